; Each master needs the names under which it is reached among the dns_alt_names of its certificate:
; puppet, puppet-north and puppet-south.

$TTL 300
@   60  SOA ns1.example.com. hostmaster.example.com. 1 7200 1800 259200 60
@       NS  ns1.example.com.
@       NS  ns2.example.com.
ns1     A   192.0.2.53
ns2     A   192.0.2.54 ; another gdnsd with the same configuration

; Names that follow health, see config; an answer is valid for 5 to 10 s.
puppet        10/5 DYNA multifo!north
puppet-north  10/5 DYNA metafo!north
puppet-south  10/5 DYNA metafo!south

; Agents of a site have
;
;   [agent]
;   use_srv_records = true
;   srv_domain = north.example.com
;
; and try the other site's name, which has a lower priority, if they cannot connect to the first.
; Agents without these lines and with server = puppet.example.com take turns over the north.
_x-puppet._tcp.north     SRV 0 0 8140 puppet-north.example.com.
_x-puppet._tcp.north     SRV 1 0 8140 puppet-south.example.com.
_x-puppet._tcp.south     SRV 0 0 8140 puppet-south.example.com.
_x-puppet._tcp.south     SRV 1 0 8140 puppet-north.example.com.
; Certificates and file buckets are on one master, whatever its health.
_x-puppet-ca._tcp.north  SRV 0 0 8140 ca.example.com.
_x-puppet-ca._tcp.south  SRV 0 0 8140 ca.example.com.
ca       A  192.0.2.21

; For HAProxy, which checks the masters itself: ../haproxy/srv.cfg.
_puppet._tcp  10  SRV 0 25600 8140 puppet1.example.com.
_puppet._tcp  10  SRV 0 25600 8140 puppet2.example.com.
puppet1  A  192.0.2.11
puppet2  A  192.0.2.12
