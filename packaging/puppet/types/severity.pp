# @summary What a check may do: take the master out, show a warning, or not look at all.
type Pmcheck::Severity = Enum['eject', 'warn', 'off']
