# @summary Who may log in: a certname, or a regular expression between slashes for the
#   whole certname, such as `/puppet\d+\.example\.com/`. The database takes at most 58
#   characters.
type Pmcheck::Login = Variant[Pattern[/\A[a-z0-9._-]{1,58}\z/], Pattern[/\A\/[^\s"\/]+\/\z/]]
