# frozen_string_literal: true

require 'spec_helper'

describe 'pmcheck' do
  let(:params) { { ensure: 'absent' } }

  { 'Debian' => DEBIAN, 'RedHat' => REDHAT }.each do |family, its_facts|
    context "when removed on #{family}" do
      let(:facts) { its_facts }

      it { is_expected.to compile.with_all_deps }
      it { is_expected.not_to contain_class('pmcheck::install') }
      it { is_expected.not_to contain_class('pmcheck::service') }

      it 'ends the guards, then removes the package, then what this module has written' do
        is_expected.to contain_service('pmcheck-guard@puppetserver.service').with(ensure: 'stopped', enable: false)
                                                                            .that_comes_before('Package[pmcheck]')
        is_expected.to contain_package('pmcheck').with_ensure('absent').that_comes_before('File[/etc/pmcheck/pmcheck.yaml]')
      end

      it 'leaves nothing that it has written' do
        files = catalogue.resources.select { |resource| resource.type == 'File' }
        expect(files.map(&:title)).to contain_exactly('/etc/pmcheck/pmcheck.yaml', '/etc/systemd/system/pmcheck.socket.d/puppet.conf',
                                                      '/etc/systemd/system/pmcheck-gate.service.d/puppet.conf')
        expect(files.map { |file| file[:ensure] }.uniq).to eq(['absent'])
      end
    end
  end

  { 'Archlinux' => 'Archlinux', 'Suse' => 'SLES', 'windows' => 'windows' }.each do |family, name|
    context "on #{name}" do
      let(:facts) { facts_of(family, name, '15') }
      let(:params) { {} }

      it { is_expected.to compile.and_raise_error(%r{pmcheck is not supported on #{name}: there are packages for}) }
    end
  end
end
