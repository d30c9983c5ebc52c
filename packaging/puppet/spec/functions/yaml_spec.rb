# frozen_string_literal: true

require 'spec_helper'
require 'yaml'

describe 'pmcheck::yaml' do
  [true, 3, -1, 0.5, '', 'off', '2s', "it's", '# "x": {y}', 'ä', [], [1, 'a', [false]], { 'a' => { 'b' => [1] } }].each do |value|
    it "writes #{value.inspect} so that it is read back" do
      text = subject.execute(value)
      expect(YAML.safe_load(text)).to eq(value)
      expect(text).not_to include("\n")
    end
  end

  it { is_expected.to run.with_params("two\nlines").and_raise_error(ArgumentError) }
end
