# frozen_string_literal: true

require 'spec_helper'
require 'tmpdir'
require_relative '../plan_run'

describe 'plan pmcheck::migrate' do
  let(:dir) { Dir.mktmpdir }

  before { PlanRun.install(dir) }

  after { FileUtils.rm_rf(dir) }

  def run(failing: [])
    PlanRun.calls = []
    PlanRun.failing = failing
    PlanRun.services = []
    modules = [dir] + RSpec.configuration.module_path.split(':')
    failure = PlanRun.failure_of { PlanRun.plan('pmcheck::migrate', modules, { 'targets' => %w[m1 m2] }) }
    [failure&.message, PlanRun.calls.map { |name| name.delete_prefix('pmcheck::') }]
  end

  it 'moves one master after the other' do
    expect(run).to eq([nil, %w[migrate wait migrate wait status]])
  end

  it 'ends at the first master that cannot be moved' do
    expect(run(failing: ['pmcheck::migrate'])).to eq(['pmcheck::migrate failed', %w[migrate]])
  end
end
