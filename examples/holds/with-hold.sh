#!/bin/sh
# Runs a command once no agent uses this master any more, and puts it back
# afterwards.
#
#   with-hold.sh apt-get install -y puppetserver
#
# It does not begin if the last agent is not gone after 15 minutes, or if a balancer
# would have no master left. Nobody else's hold is touched: if an operator holds the
# master as well, it stays out when the command has ended. Should this script be
# killed, the hold ends by itself after two hours.
set -eu

holder=maintenance

trap 'pmcheck ready --hold "$holder"' EXIT
trap 'exit 1' HUP INT TERM
pmcheck drain --hold "$holder" --for 2h --reason "$*" --wait=15m
"$@"
