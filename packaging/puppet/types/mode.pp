# @summary What is wanted of a master, in HAProxy's words.
type Pmcheck::Mode = Enum['ready', 'drain', 'maint']
