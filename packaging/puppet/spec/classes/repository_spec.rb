# frozen_string_literal: true

require 'spec_helper'

describe 'pmcheck' do
  let(:params) { { package_repository: 'https://packages.example.com/pmcheck', package_repository_key: KEY } }
  let(:pre_condition) { YUMREPO }

  context 'with an apt repository without suites' do
    let(:facts) { DEBIAN }

    it { is_expected.to compile.with_all_deps }
    it { is_expected.to contain_file('/etc/apt/keyrings/pmcheck.asc').with(ensure: 'file', content: KEY, mode: '0644') }

    it 'is a source of its own, with its key only' do
      is_expected.to contain_apt__source('pmcheck')
        .with(ensure: 'present', location: 'https://packages.example.com/pmcheck', release: './', repos: '', keyring: '/etc/apt/keyrings/pmcheck.asc')
        .that_requires('File[/etc/apt/keyrings/pmcheck.asc]')
    end

    it 'is read before the package is installed' do
      is_expected.to contain_class('apt::update').that_comes_before('Package[pmcheck]')
    end

    context 'with a suite' do
      let(:params) { super().merge(package_repository_suite: 'bookworm') }

      it { is_expected.to contain_apt__source('pmcheck').with(release: 'bookworm', repos: 'main') }
    end

    context 'when removed' do
      let(:params) { super().merge(ensure: 'absent') }

      it { is_expected.to compile.with_all_deps }
      it { is_expected.to contain_apt__source('pmcheck').with_ensure('absent') }
      it { is_expected.to contain_file('/etc/apt/keyrings/pmcheck.asc').with_ensure('absent') }
    end
  end

  context 'with a yum repository' do
    let(:facts) { REDHAT }

    it { is_expected.to compile.with_all_deps }
    it { is_expected.to contain_file('/etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck').with(ensure: 'file', content: KEY) }

    it 'checks signatures' do
      is_expected.to contain_yumrepo('pmcheck')
        .with(ensure: 'present', baseurl: 'https://packages.example.com/pmcheck', enabled: '1', gpgcheck: '1',
              gpgkey: 'file:///etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck')
        .that_requires('File[/etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck]').that_comes_before('Package[pmcheck]')
    end

    context 'when removed' do
      let(:params) { super().merge(ensure: 'absent') }

      it { is_expected.to contain_yumrepo('pmcheck').with_ensure('absent') }
      it { is_expected.to contain_file('/etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck').with_ensure('absent') }
    end
  end

  context 'without a key' do
    let(:facts) { REDHAT }
    let(:params) { { package_repository: 'https://packages.example.com/pmcheck' } }

    it { is_expected.to compile.and_raise_error(%r{package_repository_key is needed}) }
  end
end
