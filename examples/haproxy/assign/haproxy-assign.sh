#!/bin/sh
# Replaces HAProxy's map of nodes and masters with what PuppetDB says, in one version: no connection sees half
# of it. On any doubt the last map stays: if PuppetDB does not answer, or its answer is cut off, or it assigns
# no node, or less than half of the nodes in the last map. The fact puppet_master names a server of HAProxy; a
# node without it goes to any.
set -eu
puppetdb=https://puppetdb.example.com:8081
ssl=/etc/puppetlabs/puppet/ssl
name=lb1.example.com # of this host's Puppet certificate; PuppetDB's allowlist, if it has one, must name it
map=/var/lib/haproxy/assign.map
haproxy() { socat -t 10 - UNIX-CONNECT:/run/haproxy/admin.sock; }
refuse() { echo "$1: the last map stays" >&2; exit 1; }

dir=$(mktemp -d "$map.XXXXXX")
trap 'rm -r "$dir"' EXIT
curl --silent --show-error --fail --max-time 30 --output "$dir/answer" --cacert "$ssl/certs/ca.pem" \
    --crlfile "$ssl/crl.pem" --cert "$ssl/certs/$name.pem" --key "$ssl/private_keys/$name.pem" \
    --get --data-urlencode 'query=inventory[facts.networking.ip, facts.puppet_master] {}' "$puppetdb/pdb/query/v4"

# Nodes say what they like. Only an address and a name pass, each as a whole: $ would match before a last newline,
# and an empty line ends the payload of HAProxy's command. An address that nodes of different masters claim is
# left out.
jq --raw-output 'map({ip: .["facts.networking.ip"], master: .["facts.puppet_master"]}
    | select(.ip | strings | test("\\A((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\\.(?!\\z)|\\z)){4}\\z"))
    | select(.master | strings | test("\\A[A-Za-z0-9_.-]{1,60}\\z")))
    | group_by(.ip)[] | select(unique_by(.master) | length == 1) | "\(.[0].ip) \(.[0].master)"' \
    "$dir/answer" >"$dir/map"
nodes=$(wc -l <"$dir/map")
last=$(wc -l <"$map")
if [ "$nodes" -eq 0 ] || [ $((2 * nodes)) -lt "$last" ]; then
    refuse "PuppetDB assigns $nodes nodes, the last map $last"
fi

version=$(echo "prepare map $map" | haproxy | sed -n 's/^New version created: //p')
[ -n "$version" ] || refuse "HAProxy does not prepare a map"
split -l 150 "$dir/map" "$dir/part." # a command and its payload must fit into HAProxy's buffer of 16 kB
for part in "$dir"/part.*; do
    { echo "add map @$version $map <<"; cat "$part"; echo; } | haproxy
done
added=$(echo "show map @$version $map" | haproxy | grep -c ' ') || true
if [ "$added" -ne "$nodes" ]; then
    echo "clear map @$version $map" | haproxy
    refuse "HAProxy has $added of $nodes nodes"
fi
said=$(echo "commit map @$version $map" | haproxy)
[ -z "$said" ] || refuse "HAProxy says: $said"
mv "$dir/map" "$map" # HAProxy reads it at its next start or reload
