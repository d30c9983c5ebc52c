; DNS SRV for agents with
;
;   [agent]
;   use_srv_records = true
;   srv_domain = example.com
;
; Agents without those lines and with server = puppet.example.com use the same masters.
; Each master needs puppet.example.com among the dns_alt_names of its certificate.

$TTL 300
@   60  SOA ns1.example.com. hostmaster.example.com. 1 7200 1800 259200 60
@       NS  ns1.example.com.
@       NS  ns2.example.com.
ns1     A   192.0.2.53
ns2     A   192.0.2.54 ; another gdnsd with the same configuration

; The healthy masters, as in config; an answer is valid for 5 to 10 s.
puppet  10/5 DYNA multifo!puppet

_x-puppet._tcp     SRV 0 5 8140 puppet.example.com.
; Certificates and file buckets are on one master, whatever its health.
_x-puppet-ca._tcp  SRV 0 5 8140 ca.example.com.
ca      A   192.0.2.12
