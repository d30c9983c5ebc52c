# frozen_string_literal: true

# The files of this host's Puppet certificate, as the agent's settings have them.
Facter.add(:pmcheck_tls) do
  confine { defined?(Puppet) }
  setcode do
    {
      'certificate' => Puppet[:hostcert],
      'key'         => Puppet[:hostprivkey],
      'ca'          => Puppet[:localcacert],
      'crl'         => Puppet[:hostcrl],
    }
  end
end
