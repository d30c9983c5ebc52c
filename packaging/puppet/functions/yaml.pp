# @summary Writes a value the way YAML reads it back, on one line.
#
# Text is quoted, always: `off` and `on` would be booleans to some otherwise.
#
# @param value The value.
# @return The value in YAML.
#
# @api private
function pmcheck::yaml(Pmcheck::Value $value) >> String {
  case $value {
    Hash: {
      $pairs = $value.map |$name, $inner| { "'${name}': ${pmcheck::yaml($inner)}" }
      "{${pairs.join(', ')}}"
    }
    Array: {
      $items = $value.map |$item| { pmcheck::yaml($item) }
      "[${items.join(', ')}]"
    }
    String: { "'${regsubst($value, "'", "''", 'G')}'" }
    default: { String($value) }
  }
}
