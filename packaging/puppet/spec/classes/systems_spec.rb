# frozen_string_literal: true

require 'spec_helper'
require 'facterdb'
require 'json'

# The facts that Facter reports on a system. facterdb ends before the newest releases; for
# these it is the newest release that it knows, with the release replaced.
def facts_from_db(name, release)
  major = release[%r{\A\d+(?:\.04)?}]
  sets = FacterDB.get_facts([{ 'os.name' => name }]).select { |f| f[:networking] && f[:os] && f[:os]['release'] }
  exact = sets.select { |f| f[:os]['release']['major'] == major }
  facts = (exact.empty? ? sets : exact).max_by { |f| [Gem::Version.new(f[:os]['release']['major']), Gem::Version.new(f[:facterversion])] }
  os = facts[:os].merge('release' => { 'full' => release, 'major' => major })
  facts.merge(os: os, operatingsystemrelease: release, operatingsystemmajrelease: major, service_provider: 'systemd')
end

metadata = JSON.parse(File.read(File.join(__dir__, '..', '..', 'metadata.json')))

describe 'pmcheck' do
  metadata['operatingsystem_support'].each do |system|
    system['operatingsystemrelease'].each do |release|
      context "on #{system['operatingsystem']} #{release}" do
        let(:facts) { facts_from_db(system['operatingsystem'], release) }
        let(:pre_condition) { YUMREPO }
        let(:params) { { listen: ':9300', package_repository: 'https://packages.example.com/pmcheck', package_repository_key: KEY } }

        it { is_expected.to compile.with_all_deps }
        it { is_expected.to contain_package('pmcheck').that_requires('Class[pmcheck::repository]') }
        it { is_expected.to contain_service('pmcheck.service').with(ensure: 'running', enable: true) }
        it { is_expected.to contain_file('/etc/systemd/system/pmcheck.socket.d/puppet.conf').with_content(%r{^ListenStream=9300$}) }
      end
    end
  end
end
