# frozen_string_literal: true

require 'spec_helper_acceptance'

describe 'pmcheck' do
  it_behaves_like 'an idempotent resource' do
    let(:manifest) { "class { 'pmcheck': package_source => '/root/#{File.basename(ENV.fetch('BEAKER_FACTER_PACKAGE'))}' }" }
  end

  describe service('pmcheck') do
    it { is_expected.to be_enabled }
    it { is_expected.to be_running }
  end

  describe service('pmcheck-guard@puppetserver') do
    it { is_expected.to be_enabled }
  end

  describe port(9200) do
    it { is_expected.to be_listening }
  end
end
