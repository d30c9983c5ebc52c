# frozen_string_literal: true

require 'spec_helper'
require 'facter'

describe 'the fact pmcheck_tls' do
  before do
    Facter.clear
    load File.join(__dir__, '..', '..', '..', 'lib', 'facter', 'pmcheck_tls.rb')
  end

  after { Facter.clear }

  it "has the files of the agent's settings" do
    Puppet.settings[:ssldir] = '/ssl'
    Puppet.settings[:certname] = 'puppet1.example.com'
    expect(Facter.value(:pmcheck_tls)).to eq(
      'certificate' => '/ssl/certs/puppet1.example.com.pem', 'key' => '/ssl/private_keys/puppet1.example.com.pem',
      'ca' => '/ssl/certs/ca.pem', 'crl' => '/ssl/crl.pem'
    )
  end

  it 'is absent where Facter runs without Puppet' do
    hide_const('Puppet')
    expect(Facter.value(:pmcheck_tls)).to be_nil
  end
end
