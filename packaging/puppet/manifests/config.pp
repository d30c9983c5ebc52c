# @summary Writes pmcheck.yaml, if pmcheck accepts it.
#
# The port is also written to a drop-in of its unit, which binds it.
#
# @api private
class pmcheck::config {
  assert_private()

  $named = {
    'listen'       => $pmcheck::listen,
    'allow'        => $pmcheck::allow,
    'status_allow' => $pmcheck::status_allow,
    'balancers'    => $pmcheck::balancers,
    'services'     => $pmcheck::services,
    'fleet'        => $pmcheck::fleet,
    'max_out'      => $pmcheck::max_out,
    'puppet'       => $pmcheck::puppet,
    'probe'        => $pmcheck::probe,
    'checks'       => $pmcheck::checks,
    'jruby'        => $pmcheck::jruby,
    'unit'         => $pmcheck::unit,
    'expiry'       => $pmcheck::expiry,
    'disk'         => $pmcheck::disk,
    'code'         => $pmcheck::code,
    'puppetdb'     => $pmcheck::puppetdb,
    'guard'        => $pmcheck::guard,
    'gate'         => $pmcheck::gate,
    'budget'       => $pmcheck::budget,
    'log'          => $pmcheck::log,
  }
  $given    = $named.filter |$_name, $value| { !($value in [undef, {}]) }
  $settings = deep_merge($given, $pmcheck::settings)

  # Other classes read the parameters: an exported balancermember would have another port. A
  # section may have settings that the module does not know.
  $twice = keys($pmcheck::settings).filter |$name| { $name in $named and $named[$name] !~ Hash }
  unless $twice == [] {
    fail("pmcheck::settings has ${join($twice, ', ')}: set the parameter pmcheck::${twice[0]} instead")
  }

  file { '/etc/pmcheck/pmcheck.yaml':
    ensure       => file,
    owner        => 'root',
    group        => 'root',
    mode         => '0644',
    content      => epp('pmcheck/pmcheck.yaml.epp', { 'settings' => $settings }),
    validate_cmd => '/usr/bin/pmcheck config --check %',
  }

  # A drop-in restarts its unit in the run that changes it. If pmcheck refuses pmcheck.yaml, that
  # must be the run with the corrected file.
  $stream = regsubst(String($settings['listen']), '\A:', '')
  $bound = $stream ? {
    ''      => '',
    default => "\n[Socket]\nListenStream=\nListenStream=${stream}\n",
  }
  pmcheck::dropin { 'pmcheck.socket':
    content => $bound,
    require => File['/etc/pmcheck/pmcheck.yaml'],
  }
}
