# frozen_string_literal: true

require 'spec_helper'

describe 'pmcheck' do
  let(:params) { { package_repository: 'https://packages.example.com/pmcheck', package_repository_key: KEY } }

  context 'with an apt repository without suites' do
    let(:facts) { DEBIAN }

    it { is_expected.to compile.with_all_deps }
    it { is_expected.to contain_file('/usr/share/keyrings/pmcheck.asc').with_content(KEY) }
    it { is_expected.to contain_file('/etc/apt/sources.list.d/pmcheck.sources').that_notifies('Exec[pmcheck: apt-get update]') }
    it { is_expected.to contain_exec('pmcheck: apt-get update').with_refreshonly(true).that_comes_before('Package[pmcheck]') }

    it 'is a source of its own, with its key only' do
      is_expected.to contain_file('/etc/apt/sources.list.d/pmcheck.sources').with_content(<<~SOURCES)
        # Managed by Puppet, class pmcheck.
        Types: deb
        URIs: https://packages.example.com/pmcheck
        Suites: ./
        Signed-By: /usr/share/keyrings/pmcheck.asc
      SOURCES
    end

    context 'with a suite' do
      let(:params) { super().merge(package_repository_suite: 'bookworm') }

      it { is_expected.to contain_file('/etc/apt/sources.list.d/pmcheck.sources').with_content(%r{^Suites: bookworm\nComponents: main$}) }
    end
  end

  context 'with a yum repository' do
    let(:facts) { REDHAT }

    it { is_expected.to compile.with_all_deps }
    it { is_expected.to contain_file('/etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck').with_content(KEY) }

    it 'checks signatures' do
      is_expected.to contain_file('/etc/yum.repos.d/pmcheck.repo').that_comes_before('Package[pmcheck]').with_content(<<~REPO)
        # Managed by Puppet, class pmcheck.
        [pmcheck]
        name=pmcheck
        baseurl=https://packages.example.com/pmcheck
        enabled=1
        gpgcheck=1
        gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck
      REPO
    end
  end

  context 'without a key' do
    let(:facts) { REDHAT }
    let(:params) { { package_repository: 'https://packages.example.com/pmcheck' } }

    it { is_expected.to compile.and_raise_error(%r{package_repository_key is needed}) }
  end
end
