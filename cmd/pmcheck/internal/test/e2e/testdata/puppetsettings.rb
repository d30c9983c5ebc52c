# Prints the settings of Puppet's own library, one a line: name, kind of value, default. The default is missing if
# there is none, and ? if Puppet computes it on each host.
require 'puppet'

KINDS = {
  'FileSetting' => 'path', 'DirectorySetting' => 'path', 'FileOrDirectorySetting' => 'path', 'PathSetting' => 'paths',
  'BooleanSetting' => 'boolean', 'IntegerSetting' => 'number', 'PortSetting' => 'port',
  'DurationSetting' => 'time', 'TTLSetting' => 'time',
  'ArraySetting' => 'list', 'ServerListSetting' => 'list', 'HttpExtraHeadersSetting' => 'list'
}.freeze

Puppet.settings.to_a.sort.each do |name, setting|
  if setting.respond_to?(:alias_name)
    puts [name, 'port', "$#{setting.alias_name}"].join("\t")
    next
  end
  default = setting.instance_variable_get(:@default)
  computed = default.is_a?(Proc) || default.to_s.include?(Puppet.version)
  kind = KINDS.fetch(setting.class.name.split('::').last, 'text')
  puts [name, kind, computed ? '?' : default].compact.join("\t")
end
