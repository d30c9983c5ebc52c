# @summary The mode of a master, in HAProxy's words.
type Pmcheck::Mode = Enum['ready', 'drain', 'maint']
