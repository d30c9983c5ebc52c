# frozen_string_literal: true

require 'spec_helper'
require 'yaml'

DROPINS = ['pmcheck.socket', 'pmcheck-gate.service'].freeze

describe 'pmcheck' do
  let(:facts) { DEBIAN }
  let(:yaml) { YAML.safe_load(catalogue.resource('File', '/etc/pmcheck/pmcheck.yaml')[:content]) }

  { 'Debian' => DEBIAN, 'RedHat' => REDHAT }.each do |family, facts|
    context "on #{family}, as it is" do
      let(:facts) { facts }

      it { is_expected.to compile.with_all_deps }
      it { is_expected.to contain_package('pmcheck').with_ensure('installed').without_source }
      it { is_expected.to contain_service('pmcheck.socket').with(ensure: 'running', enable: true) }
      it { is_expected.to contain_service('pmcheck.service').with(ensure: 'running', enable: true) }
      it { is_expected.to contain_service('pmcheck-guard@puppetserver.service').with(enable: true, ensure: nil) }
      it { is_expected.to contain_service('pmcheck-guard@pe-puppetserver.service').with(enable: true, ensure: nil) }
      it { is_expected.to contain_service('pmcheck-guard@puppet-master.service').with(enable: true, ensure: nil) }

      it 'starts the guard of a server that runs already' do
        is_expected.to contain_exec('pmcheck: start the guard of puppetserver')
          .with_command('/bin/systemctl --no-block start pmcheck-guard@puppetserver.service')
          .with_onlyif(['/bin/systemctl --quiet is-active puppetserver.service',
                        "/bin/systemctl is-active pmcheck-guard@puppetserver.service | /bin/grep -Eqx 'inactive|failed'",])
          .that_requires('Service[pmcheck-guard@puppetserver.service]')
      end

      it { is_expected.to contain_file('/etc/systemd/system/pmcheck.socket.d/puppet.conf').with_ensure('absent') }
      it { expect(yaml).to be_nil } # nothing but comments
    end
  end

  it 'installs before it configures, and configures before it starts' do
    is_expected.to contain_package('pmcheck').that_comes_before('File[/etc/pmcheck/pmcheck.yaml]')
    is_expected.to contain_file('/etc/pmcheck/pmcheck.yaml').that_notifies('Service[pmcheck.service]')
    ['pmcheck.socket', 'pmcheck-status.socket'].each do |socket|
      is_expected.to contain_service(socket).with(ensure: 'running', enable: true).that_comes_before('Service[pmcheck.service]')
    end
  end

  it 'changes nothing while another program has the port' do
    is_expected.to contain_class('pmcheck::port').that_comes_before('Class[pmcheck::install]')
    is_expected.to contain_exec('pmcheck: is the port taken by another program?')
      .with_onlyif(%r{sport = :9200'.*grep -q \.$}).with_command(%r{pmcheck::migrate first\.'; exit 1$})
  end

  it 'has pmcheck itself check its configuration' do
    is_expected.to contain_file('/etc/pmcheck/pmcheck.yaml').with_validate_cmd('/usr/bin/pmcheck config --check %')
  end

  it 'reloads, and does not restart' do
    is_expected.to contain_service('pmcheck.service')
      .with_restart('/bin/systemctl reload pmcheck.service || /bin/systemctl try-restart pmcheck.service')
  end

  # Otherwise a run whose pmcheck.yaml is refused changes a drop-in, and the run that mends it
  # does not, so that it does not restart.
  it 'removes no drop-in if pmcheck refuses its configuration' do
    DROPINS.each do |unit|
      is_expected.to contain_file("/etc/systemd/system/#{unit}.d/puppet.conf").that_requires('File[/etc/pmcheck/pmcheck.yaml]')
    end
  end

  it 'manages no hold' do
    paths = catalogue.resources.select { |resource| resource.type == 'File' }.map(&:title)
    expect(paths.grep(%r{/holds|\.json|/var/lib|/run})).to be_empty
  end

  context 'with every parameter' do
    let(:params) do
      {
        listen: '[::1]:9300', allow: ['192.0.2.0/24', '2001:db8::/32', '198.51.100.7'], status_allow: [], balancers: ['192.0.2.1'],
        services: %w[ca broker-service], fleet: ['puppet1', 'puppet2:9200'],
        puppet: { 'conf' => '/etc/puppet/puppet.conf' },
        probe: {
          'address' => '[::1]:8140', 'certname' => 'puppet1.example.com', 'certificate' => '/c.pem', 'key' => '/k.pem',
          'ca' => '/ca.pem', 'crl' => '/crl.pem', 'interval' => '3s',
          'timeout' => '1500ms',
        },
        checks: { 'jruby' => 'eject', 'unit' => 'off', 'identity' => 'warn', 'expiry' => 'warn', 'disk' => 'eject',
                  'code' => 'warn', 'puppetdb' => 'warn', },
        jruby: { 'warming_max' => '5m', 'stuck_after' => '2m' },
        unit: { 'names' => ['puppetserver.service'] },
        expiry: { 'warn' => '720h' },
        disk: { 'paths' => ['/var'], 'warn_percent' => 10, 'eject_mib' => 64 },
        code: { 'dir' => '/etc/puppet/code/environments' },
        puppetdb: { 'address' => 'localhost:8081' },
        guard: { 'turn' => '1m', 'wait' => '10m' },
        gate: { 'except' => ['192.0.2.1', '2001:db8::/32'] },
        budget: { 'database' => 'postgresql://puppetdb.example.com/pmcheck', 'pool' => 'east', 'lapse' => '1h' },
        max_out: '5%',
        log: { 'level' => 'debug' },
      }
    end

    it { is_expected.to compile.with_all_deps }

    it 'writes them all, with their types' do
      want = params.transform_keys(&:to_s)
      expect(yaml).to eq(want)
    end

    it 'looks for other programs on its port' do
      is_expected.to contain_exec('pmcheck: is the port taken by another program?').with_onlyif(%r{sport = :9300'})
    end

    it 'binds the socket unit to the address' do
      is_expected.to contain_file('/etc/systemd/system/pmcheck.socket.d/puppet.conf')
        .with_content(%r{^\[Socket\]\nListenStream=\nListenStream=\[::1\]:9300$})
        .that_notifies('Exec[pmcheck: let go of the old sockets]')
    end

    it 'changes none of them if pmcheck refuses its configuration' do
      DROPINS.each do |unit|
        is_expected.to contain_file("/etc/systemd/system/#{unit}.d/puppet.conf").with_ensure('file')
                                                                                .that_requires('File[/etc/pmcheck/pmcheck.yaml]')
      end
    end
  end

  it { is_expected.not_to contain_exec('pmcheck: hold a new host') }

  context 'on a host that is held until an operator lifts the hold' do
    let(:params) { { hold_new_host: true } }

    it 'sets the hold before the package is there, and never again' do
      is_expected.to contain_exec('pmcheck: hold a new host').with(creates: '/usr/bin/pmcheck')
                                                             .with_command(%r{echo '\{"mode": "maint", "reason": "new host"\}' >/var/lib/pmcheck/holds/new-host\.json$})
                                                             .that_comes_before('Package[pmcheck]')
    end
  end

  context 'with settings' do
    let(:params) do
      { probe: { 'interval' => '3s' },
        settings: { 'probe' => { 'later' => "it's" }, 'much_later' => [{ 'name' => 'off', 'on' => false, 'share' => 0.5 }] }, }
    end

    it 'merges them over the parameters' do
      expect(yaml).to eq('probe' => { 'interval' => '3s', 'later' => "it's" },
                         'much_later' => [{ 'name' => 'off', 'on' => false, 'share' => 0.5 }])
    end
  end

  context 'with a package on the host' do
    let(:params) { { package_source: '/root/pmcheck.deb' } }

    it { is_expected.to contain_package('pmcheck').with(ensure: 'latest', provider: 'dpkg', source: '/root/pmcheck.deb') }
    it { is_expected.not_to contain_file('/root/pmcheck.deb') }
  end

  context 'with a package behind a URL' do
    let(:facts) { REDHAT }
    let(:params) { { package_source: 'https://example.com/a/pmcheck.rpm', package_sha256: 'a' * 64 } }

    it { is_expected.to contain_package('pmcheck').with(ensure: 'latest', provider: 'rpm', source: '/var/cache/pmcheck/pmcheck.rpm') }

    it {
      is_expected.to contain_file('/var/cache/pmcheck/pmcheck.rpm')
        .with(source: 'https://example.com/a/pmcheck.rpm', checksum: 'sha256', checksum_value: 'a' * 64)
        .that_comes_before('Package[pmcheck]')
    }
  end

  {
    'a checksum of a package on the host' => [{ package_source: '/root/pmcheck.deb', package_sha256: 'a' * 64 }, 'is for a URL'],
    'a checksum of a package in a repository' => [{ package_sha256: 'a' * 64 }, 'is for a URL'],
    'http without a checksum' => [{ package_source: 'http://example.com/pmcheck.deb' }, 'is needed with http'],
    'HTTP without a checksum' => [{ package_source: 'HTTP://example.com/pmcheck.deb' }, 'is needed with http'],
  }.each do |what, (given, message)|
    context "with #{what}" do
      let(:params) { given }

      it { is_expected.to compile.and_raise_error(%r{package_sha256 #{message}}) }
    end
  end

  context 'with a package and a repository' do
    let(:params) do
      { package_source: 'https://example.com/pmcheck.deb', package_repository: 'https://packages.example.com/pmcheck',
        package_repository_key: '-----BEGIN PGP PUBLIC KEY BLOCK-----', }
    end

    it { is_expected.to compile.and_raise_error(%r{package_repository and pmcheck::package_source exclude each other}) }
  end

  context 'without a guard' do
    let(:params) { { guard_enable: false } }

    it { is_expected.to contain_service('pmcheck-guard@puppetserver.service').with(enable: false, ensure: 'stopped') }
    it { is_expected.not_to contain_exec('pmcheck: start the guard of puppetserver') }
  end

  context 'with a gate' do
    let(:params) { { gate_enable: true, gate: { 'except' => ['192.0.2.1'] }, log: { 'level' => 'debug' } } }

    it { is_expected.to contain_service('pmcheck-gate.service').with(enable: true, ensure: 'running') }

    it 'restarts it for a change of its settings' do
      is_expected.to contain_file('/etc/systemd/system/pmcheck-gate.service.d/puppet.conf')
        .with_content(%r{^#   gate: .*192\.0\.2\.1}).with_content(%r{^#   log: .*debug})
        .that_notifies('Exec[pmcheck: restart the gate]')
    end
  end

  context 'stopped' do
    let(:params) { { service_ensure: 'stopped', service_enable: false } }

    it { is_expected.to contain_service('pmcheck.service').with(ensure: 'stopped', enable: false) }
    it { is_expected.to contain_service('pmcheck.socket').with(ensure: 'stopped', enable: false) }
  end

  {
    package_ensure: ['', true], package_source: ['pmcheck.deb', 'ftp://example.com/x'], package_sha256: ['abc', 'A' * 64],
    file_provider: ['apt'], service_ensure: ['yes', true], service_enable: %w[yes mask],
    guard_enable: ['yes', 1], hold_new_host: ['maint'], guard: [true, { 'wait' => 300 }, { 'stop' => '5m' }], guard_services: ['puppetserver', ['a b'], [1]],
    listen: ['9200', 9200, 'localhost:9200', ':9200 ', ":9200\n"],
    allow: [[], '192.0.2.0/24', ['192.0.2.0/33'], ['somewhere'], [1]], status_allow: ['::1', ['x']],
    puppet: [{ 'conf' => 'puppet.conf' }, { 'config' => '/p' }],
    probe: [{ 'interval' => 2 }, { 'interval' => '2' }, { 'timeout' => '1.5 s' },
            { 'address' => 'localhost' }, { 'timeuot' => '1s' },],
    services: ['ca', ['CA']],
    checks: [{ 'jruby' => 'on' }, { 'disk' => false }, { 'ruby' => 'off' }], jruby: [{ 'stuck_after' => 5 }], unit: [{ 'names' => [] }],
    expiry: [{ 'warn' => '30x' }], disk: [{ 'paths' => '/var' }, { 'warn_percent' => 100 }], code: [{ 'dir' => 'code' }],
    puppetdb: [{ 'address' => 'https://puppetdb:8081' }],
    budget: [{ 'database' => 'puppetdb/pmcheck' }, { 'pool' => 'a b' }, { 'lapse' => 30 }, { 'turn' => '1m' }],
    gate: [true, { 'except' => '::1' }, { 'except' => ['lb1'] }, { 'port' => 8140 }], gate_enable: ['yes', 1],
    balancers: ['::1'], fleet: ['puppet1', ['a b'], ['https://x']],
    log: [{ 'level' => 'INFO' }, { 'levels' => 'info' }],
    settings: [{ 'Probe' => 1 }, { 'a.b' => 1 }, { 'x' => "two\nlines" }, 'x: 1', { 'listen' => ':9300' },
               { 'later' => 1, 'allow' => ['192.0.2.1'] },],
  }.each do |name, values|
    values.each do |value|
      context "with #{name} #{value.inspect}" do
        let(:params) { { name => value } }

        it { is_expected.to compile.and_raise_error(%r{#{name}}) }
      end
    end
  end
end
