# @summary Settings by name, as in pmcheck.yaml. pmcheck validates the names.
type Pmcheck::Settings = Hash[Pmcheck::Name, Pmcheck::Value]
