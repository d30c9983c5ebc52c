# @summary Takes masters out one at a time, runs a command or plan on each, and puts it back.
#
# For each master in turn: drain it and wait until the last agent has finished, run the
# command or the plan, lift the hold, and wait until every balancer has it UP again. The
# plan does nothing unless all masters are in service at the start.
#
# The plan ends at the first failure, and the other masters are not touched. A master that
# cannot be drained in time is put back. If the command or the plan fails, that master stays
# held, by the holder `hold`. Fix the cause, then run `pmcheck ready --hold rolling`. A
# command runs below `pmcheck with-hold` on the master: if the connection to it is lost, the
# hold is lifted when the command has ended.
#
# @example A new package on every master; on EL the command is dnf upgrade -y puppetserver
#   bolt plan run pmcheck::rolling targets=masters \
#     command='apt-get install -y puppetserver' reason='Puppet Server 7.9.6'
#
# @example A plan for each
#   bolt plan run pmcheck::rolling targets=masters plan=profile::patch plan_parameters='{"reboot": true}'
#
# @example With one CA, which stays in service until Puppet Server itself restarts
#   bolt plan run pmcheck::rolling targets=masters service=server command='apt-get install -y puppetserver'
#
# @param targets
#   The masters.
# @param command
#   The command to run on each master. Either this or `plan`.
# @param plan
#   The plan to run for each master, with the master as its parameter `targets`.
# @param plan_parameters
#   More parameters of that plan.
# @param hold
#   The holder.
# @param reason
#   The reason of the hold.
# @param service
#   The service to take out; without it, all services. A balancer must keep a server for each
#   of them, so masters with a CA that has a backend of its own and no second server need
#   `server` here.
# @param drain_timeout
#   How long to wait for the last agent of a master; longer than the slowest catalog.
# @param ready_timeout
#   How long to wait until a master serves agents and balancers use it; longer than a start
#   of Puppet Server and, with a budget, 30 seconds together.
# @return
#   The result of `pmcheck::status` for each master at the end.
plan pmcheck::rolling (
  TargetSpec                               $targets,
  Optional[String[1]]                      $command         = undef,
  Optional[String[1]]                      $plan            = undef,
  Hash[String[1], Data]                    $plan_parameters = {},
  Pattern[/\A[a-z0-9][a-z0-9._-]{0,63}\z/] $hold            = 'rolling',
  Pmcheck::Text                            $reason          = 'rolling restart',
  Optional[Pmcheck::Service]               $service         = undef,
  Pmcheck::Duration                        $drain_timeout   = '15m',
  Pmcheck::Duration                        $ready_timeout   = '10m',
) {
  if ($command =~ Undef) == ($plan =~ Undef) {
    fail_plan('give either command or plan', 'pmcheck/usage')
  }
  $masters = get_targets($targets)
  $only = $service ? {
    undef   => {},
    default => { 'service' => $service },
  }

  $out = run_task('pmcheck::status', $masters, 'Is every master in service?').filter |$result| {
    $result['services'].any |$s| { $s['name'] == pick($service, 'server') and $s['answer']['code'] != 200 }
  }
  unless empty($out) {
    $names = $out.map |$result| { $result.target.name }
    fail_plan("out of service already: ${join($names, ', ')}", 'pmcheck/out-of-service')
  }

  $masters.each |$master| {
    if $command {
      run_task('pmcheck::with_hold', $master, 'Drain, run the command, and return', $only + {
        'command' => $command,
        'hold'    => $hold,
        'reason'  => $reason,
        'wait'    => $drain_timeout,
        'return'  => $ready_timeout,
        'keep'    => true,
      })
    } else {
      $failure = catch_errors() || {
        run_task('pmcheck::drain', $master, 'Drain', $only + {
          'hold'   => $hold,
          'reason' => $reason,
          'wait'   => $drain_timeout,
        })
        undef
      }
      if $failure {
        run_task('pmcheck::ready', $master, 'Lift the hold', $only + { 'hold' => $hold, '_catch_errors' => true })
        fail_plan($failure)
      }
      run_plan($plan, $plan_parameters + { 'targets' => $master })
      run_task('pmcheck::ready', $master, 'Lift the hold', $only + { 'hold' => $hold, 'wait' => $ready_timeout })
    }
    run_task('pmcheck::wait', $master, 'Wait until it is in service', $only + { 'for' => 'ready', 'timeout' => $ready_timeout })
  }

  return run_task('pmcheck::status', $masters)
}
