# frozen_string_literal: true

require 'spec_helper'

# puppet/systemd of before version 3, as Debian has it, is camptocamp/systemd.
describe 'pmcheck' do
  let(:facts) { DEBIAN }
  let(:content) { "# Managed by Puppet, from the settings in /etc/pmcheck/pmcheck.yaml.\n\n[Socket]\nListenStream=\nListenStream=9300\n" }

  dropin = '/etc/systemd/system/pmcheck.socket.d/puppet.conf'
  site = <<~PUPPET
    systemd::dropin_file { 'backlog.conf':
      unit    => 'pmcheck.socket',
      content => "[Socket]\\nBacklog=128\\n",
    }
  PUPPET

  { 'before' => [site, ''], 'after' => ['', site] }.each do |order, (before, after)|
    context "with a drop-in of the site's own, declared #{order} the class" do
      let(:params) { { listen: ':9300' } }
      let(:pre_condition) { before }
      let(:post_condition) { after }

      it { is_expected.to compile.with_all_deps }
      it { is_expected.to contain_systemd__dropin_file('backlog.conf') }
      it { is_expected.to contain_file(dropin).with(ensure: 'file', mode: '0644', content: content) }
      it { is_expected.to contain_file(dropin).that_comes_before('Exec[pmcheck: let go of the old sockets]') }
    end
  end

  context 'with defaults' do
    it { is_expected.not_to contain_class('systemd') }
    it { is_expected.not_to contain_file('/etc/systemd/system/pmcheck.socket.d') }
  end
end
