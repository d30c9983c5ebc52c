# frozen_string_literal: true

require 'fileutils'
require 'puppet_pal'

# Runs a plan with functions in the place of Bolt's. They record the calls of tasks and
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

    # Writes the functions to a module below dir.
    def install(dir)
      functions = FileUtils.mkdir_p(File.join(dir, 'bolt', 'lib', 'puppet', 'functions')).first
      FUNCTIONS.each do |name, code|
        File.write(File.join(functions, "#{name}.rb"), "Puppet::Functions.create_function(:#{name}) do\n#{code}\nend\n")
      end
    end

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

    def plan(name, modules, parameters)
      Puppet::Pal.in_tmp_environment('production', modulepath: modules, facts: {}) do |pal|
        pal.with_script_compiler do |compiler|
          compiler.evaluate_string('type TargetSpec = Array[String]')
          plan = Puppet.lookup(:loaders).private_environment_loader.load(:plan, name)
          catch(:return) { plan.class.dispatcher.dispatchers.first.call_by_name(parameters, true) }
        end
      end
    end
  end
end
