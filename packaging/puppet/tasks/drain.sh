#!/bin/sh
# Sets a hold: no new agents; runs in progress finish.
. "$PT__installdir/pmcheck/files/task.sh"
hold drain
