#!/bin/sh
# Runs a command while this master is drained, and puts it back afterwards.
#
#   with-hold.sh apt-get install -y puppetserver
#
# Nobody else's hold is touched: if an operator holds the master as well, it
# stays out when the command has ended. Should this script be killed, the hold
# ends by itself after two hours.
set -eu

holder=maintenance

pmcheck drain --hold "$holder" --for 2h --reason "$*"
trap 'pmcheck ready --hold "$holder"' EXIT
trap 'exit 1' HUP INT TERM
"$@"
