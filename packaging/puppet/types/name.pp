# @summary The name of a setting in pmcheck.yaml.
type Pmcheck::Name = Pattern[/\A[a-z][a-z0-9_]*\z/]
