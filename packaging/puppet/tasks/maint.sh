#!/bin/sh
# Sets a hold: no agents at all.
. "$PT__installdir/pmcheck/files/task.sh"
hold maint
