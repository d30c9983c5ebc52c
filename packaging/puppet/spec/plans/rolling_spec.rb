# frozen_string_literal: true

require 'spec_helper'
require 'tmpdir'
require_relative '../plan_run'

describe 'plan pmcheck::rolling' do
  let(:dir) { Dir.mktmpdir }

  before { PlanRun.install(dir) }

  after { FileUtils.rm_rf(dir) }

  def run(failing: [], **parameters)
    PlanRun.calls = []
    PlanRun.failing = failing
    PlanRun.services = []
    modules = [dir] + RSpec.configuration.module_path.split(':')
    failure = PlanRun.failure_of { PlanRun.plan('pmcheck::rolling', modules, { 'targets' => %w[m1 m2] }.merge(parameters.transform_keys(&:to_s))) }
    [failure&.message, PlanRun.calls.map { |name| name.delete_prefix('pmcheck::') }]
  end

  it 'runs a command on each master, with a hold' do
    expect(run(command: 'true')).to eq([nil, %w[status with_hold wait with_hold wait status]])
  end

  it 'runs a plan for each master, between drain and ready' do
    expect(run(plan: 'patch')).to eq([nil, %w[status drain patch ready wait drain patch ready wait status]])
  end

  it 'puts a master back that could not be drained' do
    expect(run(plan: 'patch', failing: ['pmcheck::drain'])).to eq(['pmcheck::drain failed', %w[status drain ready]])
  end

  it 'reports the failed drain even if the hold cannot be lifted' do
    expect(run(plan: 'patch', failing: ['pmcheck::drain', 'pmcheck::ready'])).to eq(['pmcheck::drain failed', %w[status drain ready]])
  end

  it 'leaves a master held on which the plan failed' do
    expect(run(plan: 'patch', failing: ['patch'])).to eq(['patch failed', %w[status drain patch]])
  end

  it 'takes one service out, where the only CA must stay in' do
    expect(run(command: 'true', service: 'server')).to eq([nil, %w[status with_hold wait with_hold wait status]])
    expect(PlanRun.services).to eq(['server'] * 4)
    expect(run(plan: 'patch', service: 'server', targets: ['m1'])).to eq([nil, %w[status drain patch ready wait status]])
    expect(PlanRun.services).to eq(['server'] * 3)
    run(plan: 'patch', service: 'server', failing: ['pmcheck::drain'])
    expect(PlanRun.services).to eq(['server'] * 2)
  end

  it 'takes all services out without a parameter' do
    run(command: 'true')
    expect(PlanRun.services).to eq([nil] * 4)
  end

  it 'refuses a service with a name that pmcheck does not accept' do
    expect { run(command: 'true', service: '--force') }.to raise_error(Puppet::Error, %r{parameter 'service'})
  end

  it 'needs either a command or a plan' do
    expect(run).to eq(['give either command or plan', []])
  end
end
