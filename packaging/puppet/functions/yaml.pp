# @summary Writes a value as YAML on one line.
#
# Text is always quoted: some parsers read `off` and `on` as booleans.
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
