# frozen_string_literal: true

require 'spec_helper'
require 'fileutils'
require 'puppet_pal'
require 'tmpdir'

# Runs the plan with functions in the place of Bolt's. They record the calls of tasks and
# plans; those in `failing` fail.
module PlanRun
  FUNCTIONS = {
    'get_targets' => 'def get_targets(targets) = [targets].flatten',
    'run_task' => 'def run_task(task, _target, _description = nil, parameters = {}) = PlanRun.task(task, parameters)',
    'run_plan' => 'def run_plan(plan, _parameters) = PlanRun.call(plan)',
    'catch_errors' => "dispatch(:catch_errors) { block_param }\ndef catch_errors = PlanRun.failure_of { yield }",
    'fail_plan' => 'def fail_plan(error, _kind = nil) = PlanRun.fail(error)',
  }.freeze

  IN_SERVICE = [{ 'services' => [{ 'name' => 'server', 'answer' => { 'code' => 200 } }] }].freeze

  class << self
    attr_accessor :calls, :failing, :services

    def fail(error)
      throw :failure, error.is_a?(String) ? Puppet::DataTypes::Error.new(error) : error
    end

    def call(name)
      calls << name
      fail("#{name} failed") if failing.include?(name)
    end

    def task(name, parameters)
      services << parameters['service'] unless name == 'pmcheck::status'
      parameters['_catch_errors'] ? failure_of { call(name) } : call(name)
      IN_SERVICE
    end

    # Returns the error with which the block fails, or nil.
    def failure_of
      catch(:failure) do
        yield
        nil
      end
    end

    def plan(modules, parameters)
      Puppet::Pal.in_tmp_environment('production', modulepath: modules, facts: {}) do |pal|
        pal.with_script_compiler do |compiler|
          compiler.evaluate_string('type TargetSpec = Array[String]')
          plan = Puppet.lookup(:loaders).private_environment_loader.load(:plan, 'pmcheck::rolling')
          catch(:return) { plan.class.dispatcher.dispatchers.first.call_by_name(parameters, true) }
        end
      end
    end
  end
end

describe 'plan pmcheck::rolling' do
  let(:dir) { Dir.mktmpdir }

  before do
    functions = FileUtils.mkdir_p(File.join(dir, 'bolt', 'lib', 'puppet', 'functions')).first
    PlanRun::FUNCTIONS.each do |name, code|
      File.write(File.join(functions, "#{name}.rb"), "Puppet::Functions.create_function(:#{name}) do\n#{code}\nend\n")
    end
  end

  after { FileUtils.rm_rf(dir) }

  def run(failing: [], **parameters)
    PlanRun.calls = []
    PlanRun.failing = failing
    PlanRun.services = []
    modules = [dir] + RSpec.configuration.module_path.split(':')
    failure = PlanRun.failure_of { PlanRun.plan(modules, { 'targets' => %w[m1 m2] }.merge(parameters.transform_keys(&:to_s))) }
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
