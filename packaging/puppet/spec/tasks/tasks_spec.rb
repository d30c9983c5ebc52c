# frozen_string_literal: true

require 'spec_helper'
require 'fileutils'
require 'json'
require 'open3'
require 'tmpdir'

MODULE_DIR = File.expand_path(File.join(__dir__, '..', '..'))

describe 'the tasks' do
  tasks = Dir[File.join(MODULE_DIR, 'tasks', '*.json')].to_h { |file| [File.basename(file, '.json'), JSON.parse(File.read(file))] }

  let(:dir) { Dir.mktmpdir }

  before do
    FileUtils.mkdir_p(File.join(dir, 'modules', 'pmcheck'))
    FileUtils.cp_r(File.join(MODULE_DIR, 'files'), File.join(dir, 'modules', 'pmcheck'))
  end

  after { FileUtils.rm_rf(dir) }

  # Runs a task as Bolt does, beside a pmcheck that prints its arguments and exits with a status.
  def run(task, parameters, status: 0)
    File.write(File.join(dir, 'pmcheck'), "#!/bin/sh\necho \"$*\"\necho problem >&2\nexit #{status}\n", perm: 0o755)
    variables = parameters.to_h { |name, value| ["PT_#{name}", value.to_s] }
    environment = { 'PATH' => "#{dir}:/usr/bin:/bin", 'PT__installdir' => File.join(dir, 'modules') }.merge(variables)
    out, process = Open3.capture2(environment, '/bin/sh', File.join(MODULE_DIR, 'tasks', "#{task}.sh"))
    [JSON.parse(out), process.exitstatus]
  end

  tasks.each do |name, metadata|
    describe name do
      it 'says what it does, and which file it shares' do
        expect(metadata).to include('description' => a_kind_of(String), 'input_method' => 'environment', 'supports_noop' => true,
                                    'files' => ['pmcheck/files/task.sh'])
      end

      metadata['parameters'].each do |parameter, about|
        it "has a type for #{parameter} that its default fits" do
          type = Puppet::Pops::Types::TypeParser.singleton.parse(about['type'])
          expect(about.fetch('description')).not_to be_empty
          expect(type.instance?(about['default'])).to be(true) if about.key?('default')
        end
      end
    end
  end

  it 'pass their parameters to pmcheck' do
    expect(run('drain', { reason: 'a "reason"', wait: '5m' })).to eq(
      [{ 'output' => 'drain --hold=operator --reason=a "reason" --wait --timeout=5m', 'log' => 'problem' }, 0],
    )
    expect(run('ready', { all: true })).to eq([{ 'output' => 'ready --all', 'log' => 'problem' }, 0])
  end

  it 'change nothing with noop' do
    result = { 'noop' => true, 'would' => 'pmcheck maint --hold=h' }
    expect(run('maint', { hold: 'h', _noop: true })).to eq([result, 0])
  end

  { 2 => 'usage', 6 => 'timeout', 7 => 'refused', 1 => 'failed' }.each do |status, kind|
    it "report a #{kind} with the exit status #{status}" do
      result, got = run('drain', {}, status: status)
      expect([result['_error']['kind'], result['_error']['details']['exit_code'], got]).to eq(["pmcheck/#{kind}", status, status])
    end
  end
end
