#!/bin/sh
# Sets a hold: no new agents; those under way finish.
. "$PT__installdir/pmcheck/files/task.sh"
hold drain
