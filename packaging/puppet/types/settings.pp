# @summary Settings by name, as in pmcheck.yaml. Which names there are is for pmcheck to say.
type Pmcheck::Settings = Hash[Pmcheck::Name, Pmcheck::Value]
