# frozen_string_literal: true

require 'spec_helper'

describe 'pmcheck::balancermember' do
  let(:facts) { DEBIAN }
  let(:node) { 'puppet1.example.com' }
  let(:observed) { ['observe layer4', 'error-limit 20', 'on-error sudden-death'] }

  it { is_expected.to compile }
  it { is_expected.to contain_class('pmcheck') }

  it 'exports the master, checked by pmcheck' do
    expect(exported_resources).to contain_haproxy__balancermember('puppet1.example.com')
      .with(listening_service: 'puppet', ports: '8140', server_names: 'puppet1', ipaddresses: '192.0.2.11',
            options: ['check', 'port 9200', 'inter 2s', 'fall 3', 'rise 2', 'maxconn 100', *observed])
  end

  it 'exports the master for the turns, too' do
    expect(exported_resources).to contain_haproxy__balancermember('puppet1.example.com 0-turn')
      .with(listening_service: '0-turn', ports: '8140', server_names: 'puppet1', ipaddresses: '192.0.2.11',
            options: ['check', 'port 9200', 'inter 1s', 'fall 3', 'rise 2', 'weight 100'])
  end

  context 'on a host without IPv4' do
    let(:facts) { DEBIAN.merge(networking: DEBIAN[:networking].except('ip').merge('ip6' => '2001:db8::11')) }

    it 'exports its IPv6 address' do
      expect(exported_resources).to contain_haproxy__balancermember('puppet1.example.com').with(ipaddresses: '2001:db8::11')
    end
  end

  context 'without turns' do
    let(:params) { { turns: false } }

    it { expect(exported_resources).not_to contain_haproxy__balancermember('puppet1.example.com 0-turn') }
  end

  context 'with another port' do
    let(:pre_condition) { "class { 'pmcheck': listen => '[::1]:9300' }" }

    it 'has it asked there' do
      expect(exported_resources).to contain_haproxy__balancermember('puppet1.example.com')
        .with_options(['check', 'port 9300', 'inter 2s', 'fall 3', 'rise 2', 'maxconn 100', *observed])
    end
  end

  context 'when pmcheck is removed' do
    let(:pre_condition) { "class { 'pmcheck': ensure => 'absent' }" }

    it { expect(exported_resources).not_to contain_haproxy__balancermember('puppet1.example.com') }
  end

  context 'with every parameter' do
    let(:params) do
      { listening_service: 'compilers', port: 8141, server_name: 'p1', ipaddress: '2001:db8::1', check_port: 1, inter: '1s', fall: 4, rise: 5, maxconn: 50,
        error_limit: 0, options: ['slowstart 60s'], }
    end

    it 'uses them' do
      expect(exported_resources).to contain_haproxy__balancermember('puppet1.example.com')
        .with(listening_service: 'compilers', ports: '8141', server_names: 'p1', ipaddresses: '2001:db8::1',
              options: ['check', 'port 1', 'inter 1s', 'fall 4', 'rise 5', 'maxconn 50', 'slowstart 60s'])
    end
  end

  { listening_service: [''], port: ['8140', 70_000], server_name: ['a b', ''], ipaddress: ['192.0.2.1 check'], check_port: [-1, '9200'],
    inter: [2, '2', '1m30s', '1.5s'], fall: ['3', 0], rise: [0], maxconn: [0, '100'], error_limit: [-1], options: ['slowstart 60s', ["a\nb"]], }.each do |name, values|
    values.each do |value|
      context "with #{name} #{value.inspect}" do
        let(:params) { { name => value } }

        it { is_expected.to compile.and_raise_error(%r{#{name}}) }
      end
    end
  end
end
