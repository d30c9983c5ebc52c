# @summary A network, such as `192.0.2.0/28` or `2001:db8::/64`.
type Pmcheck::Network = Variant[Stdlib::IP::Address::V4::CIDR, Stdlib::IP::Address::V6::CIDR]
