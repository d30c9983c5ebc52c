# Answers what Puppet's own library reads in each of the files *.conf in a directory, one line of JSON for each, in the
# order of their names. One process asks for all of them: Puppet takes a second to start.
#
# usage: ruby puppetconf.rb DIRECTORY
require 'json'
require 'puppet'

# The host has this name, whatever its DNS says.
class Facts
  def value(name)
    { hostname: 'm1', domain: 'example.org' }[name.to_sym]
  end

  def method_missing(*) end

  def respond_to_missing?(*)
    true
  end
end
Puppet.runtime[:facter] = Facts.new

LOG = []
Puppet::Util::Log.newdesttype :kept do
  match 'kept'

  def handle(message)
    LOG << message.to_s
  end
end
Puppet::Util::Log.newdestination('kept')

# The directories of Debian's Puppet Server, which gives them to Puppet when it starts.
SERVER = {
  name: 'server', run_mode: :server, confdir: '/etc/puppet', codedir: '/etc/puppet/code',
  vardir: '/var/lib/puppetserver', publicdir: '/var/cache/puppet/public', rundir: '/run/puppetserver',
  logdir: '/var/log/puppetserver', ssldir: '/var/lib/puppet/ssl'
}.freeze

ASKED = {
  'server' => %w[certname ssldir hostcert hostprivkey localcacert hostcrl certificate_revocation serverport],
  'agent' => %w[dns_alt_names server ca_server environment]
}.freeze

# What "puppet config print --section SECTION NAME" prints; null if it fails.
def print(section, name)
  Puppet.settings.values(:production, section.to_sym).print(name.to_sym).to_s.scrub
rescue StandardError, SystemStackError
  nil
end

Dir.glob(File.join(ARGV[0], '*.conf')).sort.each do |file|
  LOG.clear
  Puppet.settings.send(:clear_everything_for_tests)
  begin
    Puppet.settings.initialize_global_settings(['--config', file])
    Puppet.settings.initialize_app_defaults(SERVER)
    dropped = LOG.any? { |line| line.start_with?('Could not parse') }
    values = ASKED.flat_map { |section, names| names.map { |name| ["#{section}.#{name}", print(section, name)] } }.to_h
    puts JSON.generate(dropped: dropped, values: values)
  rescue StandardError, SystemStackError
    puts JSON.generate(refused: true)
  end
end
