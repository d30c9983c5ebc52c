# @summary The value of a setting in pmcheck.yaml.
type Pmcheck::Value = Variant[
  Boolean,
  Integer,
  Float,
  Pmcheck::Text,
  Array[Pmcheck::Value],
  Hash[Pmcheck::Name, Pmcheck::Value],
]
