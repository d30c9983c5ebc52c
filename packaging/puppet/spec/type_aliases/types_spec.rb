# frozen_string_literal: true

require 'spec_helper'

# For each type: values that it allows, and values that it refuses.
TYPES = {
  'Address' => [['localhost:8140', '192.0.2.1:1', '[2001:db8::1]:8140'], ['localhost', ':8140', '2001:db8::1:8140x', "a:1\n"]],
  'Budget' => [[{}, { 'database' => 'postgres://db/p', 'pool' => 'east', 'lapse' => '1h' }], [{ 'database' => 'mysql://db' }, { 'pool' => '-' }]],
  'Certname' => [['puppet1.example.com'], ['Puppet1', 'a b', '']],
  'Checks' => [[{}, { 'jruby' => 'eject', 'expiry' => 'off' }], [{ 'expiry' => 'eject' }, { 'code' => 'eject' }, { 'puppetdb' => 'eject' }]],
  'Code' => [[{ 'dir' => '/etc/puppetlabs/code/environments' }], [{ 'dir' => 'code' }, { 'directory' => '/c' }]],
  'Disk' => [[{ 'paths' => ['/var'], 'warn_percent' => 10, 'eject_mib' => 64 }], [{ 'warn_percent' => 100 }, { 'eject_mib' => '64' }]],
  'Duration' => [['2s', '1m30s', '30d', '1.5h', '500ms'], ['2', 's', '1 s', '-1s', "2s\n"]],
  'Expiry' => [[{ 'warn' => '30d' }], [{ 'warn' => 30 }]],
  'Gate' => [[{ 'except' => ['192.0.2.1', '2001:db8::/32'] }], [{ 'except' => '192.0.2.1' }]],
  'Guard' => [[{ 'turn' => '20m', 'wait' => '5m', 'shutdown' => '1m', 'return' => '10m' }], [{ 'stop' => '5m' }, { 'wait' => 300 }]],
  'Jruby' => [[{ 'warming_max' => '5m', 'stuck_after' => '2m' }], [{ 'stuck_after' => 120 }]],
  'Listen' => [[':9200', '192.0.2.1:9200', '[::1]:9200'], ['9200', 'localhost:9200', ":9200\n"]],
  'Log' => [[{ 'level' => 'debug' }, {}], [{ 'level' => 'INFO' }, { 'level' => 'trace' }]],
  'Login' => [['puppet1.example.com', '/puppet\d+\.example\.com/'], ['Puppet1', 'a' * 59, '//', "/a\nb/", '/a"b/']],
  'Master' => [['puppet1', 'puppet2:9200', '[::1]:9200'], ['a b', 'https://x', '']],
  'Max_out' => [[1, 1000, '5%', '100%'], [0, 1001, '0%', '101%', '5']],
  'Name' => [%w[probe max_out], ['Probe', 'a.b', '1a']],
  'Network' => [['192.0.2.0/28', '2001:db8::/64'], ['192.0.2.1', 'all']],
  'Probe' => [[{ 'address' => 'http://localhost:8080' }, { 'interval' => '5s' }], [{ 'address' => 'localhost' }, { 'timeuot' => '1s' }]],
  'Puppet' => [[{ 'conf' => '/etc/puppet/puppet.conf' }], [{ 'conf' => 'puppet.conf' }]],
  'Puppetdb' => [[{ 'address' => 'puppetdb:8081' }], [{ 'address' => 'https://puppetdb:8081' }]],
  'Service' => [%w[server pe-jruby-metrics], ['CA', '-x', 'a' * 65]],
  'Settings' => [[{ 'later' => { 'on' => true, 'list' => [1, 'a'] } }], [{ 'Later' => 1 }, { 'x' => "two\nlines" }]],
  'Severity' => [%w[eject warn off], ['on', false]],
  'Text' => [['', 'a reason', 'ä'], %W[two\nlines a\tb]],
  'Unit' => [[{ 'names' => ['puppetserver.service'] }], [{ 'names' => [] }, { 'names' => ['puppetserver'] }]],
  'Value' => [[true, 1, 0.5, 'text', [[1]], { 'a' => { 'b' => 'c' } }], [nil, "two\nlines", { 'A' => 1 }]],
}.freeze

TYPES.each do |name, (good, bad)|
  describe "Pmcheck::#{name}" do
    it { is_expected.to allow_values(*good) }
    it { is_expected.not_to allow_values(*bad) }
  end
end

describe 'the table of types' do
  it 'has every type' do
    files = Dir[File.join(__dir__, '..', '..', 'types', '*.pp')].map { |file| File.basename(file, '.pp') }
    expect(TYPES.keys.map(&:downcase)).to match_array(files)
  end
end
