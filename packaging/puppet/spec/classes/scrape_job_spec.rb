# frozen_string_literal: true

require 'spec_helper'

# What puppet/prometheus 13 declares. Debian does not have that module.
SCRAPE_JOB = <<~PUPPET
  define prometheus::scrape_job (
    String[1]                                             $job_name,
    Array[String[1]]                                      $targets,
    Hash[String[1], String[1]]                            $labels      = {},
    Stdlib::Absolutepath                                  $collect_dir = '/etc/prometheus/file_sd_config.d',
  ) { }
PUPPET

describe 'pmcheck::scrape_job' do
  let(:facts) { DEBIAN }
  let(:pre_condition) { SCRAPE_JOB }

  it { is_expected.to compile }

  it 'exports the master' do
    expect(exported_resources).to contain_prometheus__scrape_job('pmcheck on puppet1.example.com')
      .with(job_name: 'pmcheck', targets: ['puppet1.example.com:9200'], labels: {})
  end

  context 'when pmcheck is removed' do
    let(:pre_condition) { "#{SCRAPE_JOB} class { 'pmcheck': ensure => 'absent' }" }

    it { expect(exported_resources).not_to contain_prometheus__scrape_job('pmcheck on puppet1.example.com') }
  end

  context 'with every parameter' do
    let(:pre_condition) { "#{SCRAPE_JOB} class { 'pmcheck': listen => ':9300' }" }
    let(:params) { { job_name: 'puppet', host: '2001:db8::1', labels: { 'pool' => 'dc1' } } }

    it 'uses them' do
      expect(exported_resources).to contain_prometheus__scrape_job('pmcheck on puppet1.example.com')
        .with(job_name: 'puppet', targets: ['[2001:db8::1]:9300'], labels: { 'pool' => 'dc1' })
    end
  end
end
