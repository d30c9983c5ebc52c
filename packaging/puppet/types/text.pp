# @summary Text on one line.
type Pmcheck::Text = Pattern[/\A[^[:cntrl:]]*\z/]
