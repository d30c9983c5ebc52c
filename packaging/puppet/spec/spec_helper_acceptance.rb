# frozen_string_literal: true

require 'voxpupuli/acceptance/spec_helper_acceptance'

# BEAKER_FACTER_PACKAGE is a package that make packages has built, on the machine that runs the tests.
configure_beaker do |host|
  scp_to(host, ENV.fetch('BEAKER_FACTER_PACKAGE'), "/root/#{File.basename(ENV.fetch('BEAKER_FACTER_PACKAGE'))}")
end
