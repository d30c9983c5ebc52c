#!/bin/sh
# Drains this master, waits until the last agent has finished, runs a command, and
# lifts the hold.
#
#   with-hold.sh apt-get install -y puppetserver
#
# The command does not run if agents are left after 15 minutes, or if a balancer would
# have no other master. Other holds are not touched: if an operator holds the master too,
# it stays out. If this script is killed, the hold ends after two hours.
set -eu

holder=maintenance

trap 'pmcheck ready --hold "$holder"' EXIT
trap 'exit 1' HUP INT TERM
pmcheck drain --hold "$holder" --for 2h --reason "$*" --wait=15m
"$@"
