# @summary What a check may do: take the master out, show a warning, or nothing.
type Pmcheck::Severity = Enum['eject', 'warn', 'off']
