#!/usr/bin/python3
"""Replaces HAProxy's map of nodes and masters with what PuppetDB says.

haproxy-assign.py [--shrink] [FILE]

FILE is the configuration, /etc/haproxy/assign/haproxy-assign.conf by default. --shrink
accepts an answer with far fewer nodes than the last map. If anything is wrong, the last
map stays, in HAProxy and on disk, and the exit status is 1.
"""
# Only the standard library of Python 3.6, which EL 8 has.
import argparse
import configparser
import fcntl
import http.client
import ipaddress
import json
import os
import socket
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT = 30  # seconds that PuppetDB or HAProxy may be silent
CHUNK = 200  # entries in a command; a command must fit into HAProxy's tune.bufsize


class Refused(Exception):
    """The reason why the last map stays."""


def ask_puppetdb(conf):
    """Returns the rows that PuppetDB's answer has."""
    for file in "cert", "key", "ca", "crl":
        open(conf[file]).close()  # unlike ssl, names the file in its error
    context = ssl.create_default_context(cafile=conf["ca"])
    context.load_cert_chain(conf["cert"], conf["key"])
    context.load_verify_locations(conf["crl"])
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
    url = conf["url"] + "/pdb/query/v4?" + urllib.parse.urlencode({"query": conf["query"]})
    opener = urllib.request.build_opener(  # no proxy of root's environment
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=TIMEOUT) as answer:
            rows = json.loads(answer.read().decode())
    except urllib.error.HTTPError as err:
        raise Refused("PuppetDB answers %d: %s" % (err.code, quote(err.read(200).decode(errors="replace"))))
    except http.client.IncompleteRead:
        raise Refused("PuppetDB's answer ends too early")
    except (OSError, http.client.HTTPException) as err:
        raise Refused("cannot ask PuppetDB: %s" % getattr(err, "reason", err))
    except ValueError as err:
        raise Refused("PuppetDB's answer is not JSON: %s" % err)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Refused("PuppetDB's answer is not a list of nodes")
    return rows


def vet(rows, conf, servers):
    """Returns the map {address: server} of the rows, and what is wrong with the others.

    The rows are foreign text: facts are what each node says of itself. Only a single
    address and the name of a server that exists get into the map. An address that two
    nodes have with different servers is left out.
    """
    nodes, faults, disputed = {}, [], set()
    for row in rows:
        name, address, server = (row.get(field) for field in ("certname", conf["address"], conf["server"]))
        if server is None:
            continue
        try:
            # Not a network, which HAProxy would take too, and not a number.
            address = str(ipaddress.ip_address(address if isinstance(address, str) else ""))
        except ValueError:
            faults.append("%s has the address %s" % (quote(name), quote(address)))
            continue
        if not isinstance(server, str) or server not in servers:
            faults.append("%s has the server %s, which HAProxy does not know" % (quote(name), quote(server)))
        elif nodes.setdefault(address, server) != server:
            faults.append("%s has the address %s, like a node of another server" % (quote(name), address))
            disputed.add(address)
    return {a: s for a, s in nodes.items() if a not in disputed}, faults


def quote(text):
    """Returns foreign text as a terminal may show it."""
    return ascii(text)[:80]


class HAProxy:
    """The Runtime API of one HAProxy, for one backend and one map."""

    def __init__(self, conf):
        self.socket, self.backend, self.map = conf["socket"], conf["backend"], conf["map"]

    def run(self, command):
        """Runs one command and returns the lines of its answer."""
        try:
            with socket.socket(socket.AF_UNIX) as conn:
                conn.settimeout(TIMEOUT)
                conn.connect(self.socket)
                conn.sendall(command.encode() + b"\n")
                answer = b"".join(iter(lambda: conn.recv(65536), b""))
        except OSError as err:
            raise Refused("cannot ask HAProxy at %s: %s" % (self.socket, err))
        return [line for line in answer.decode().splitlines() if line]

    def servers(self):
        """Returns the names of the backend's servers."""
        rows = self.run("show servers state " + self.backend)
        names = {row.split()[3] for row in rows[2:]}
        if not names:
            raise Refused("HAProxy has no servers in backend %s: %s" % (self.backend, " ".join(rows)))
        return names

    def nodes(self, version=""):
        """Returns the map that HAProxy uses, or a version that it does not use yet."""
        rows = [line.split() for line in self.run("show map %s%s" % (version, self.map))]
        if not all(len(row) == 3 and row[0].startswith("0x") for row in rows):
            raise Refused("HAProxy has no map %s: %s" % (self.map, " ".join(rows[0])))
        return {address: server for _, address, server in rows}

    def replace(self, nodes):
        """Replaces the map at once: no connection sees half of it."""
        answer = " ".join(self.run("prepare map " + self.map))
        if not answer.startswith("New version created: "):
            raise Refused("HAProxy does not prepare a map: " + answer)
        version = "@%d " % int(answer.split()[-1])
        try:
            entries = ["%s %s\n" % entry for entry in sorted(nodes.items())]
            for i in range(0, len(entries), CHUNK):
                answer = self.run("add map %s%s <<\n%s" % (version, self.map, "".join(entries[i:i + CHUNK])))
                if answer:
                    raise Refused("HAProxy does not add to the map: " + " ".join(answer))
            if self.nodes(version) != nodes:
                raise Refused("HAProxy has read the new map differently")
        except Refused:
            self.run("clear map %s%s" % (version, self.map))
            raise
        answer = self.run("commit map %s%s" % (version, self.map))
        if answer:
            raise Refused("HAProxy does not commit the map: " + " ".join(answer))


def write(path, content):
    """Replaces a file atomically, unless it already has this content."""
    with open(path) as old:
        if old.read() == content:
            return
    temporary = path + ".new"
    with open(temporary, "w") as new:
        new.write(content)
        new.flush()
        os.fsync(new.fileno())
    os.rename(temporary, path)


def update(conf, shrink):
    """Brings HAProxy's map and the file up to date."""
    haproxy, path = HAProxy(conf["haproxy"]), conf["haproxy"]["map"]
    servers, last = haproxy.servers(), haproxy.nodes()
    nodes, faults = vet(ask_puppetdb(conf["puppetdb"]), conf["puppetdb"], servers)
    if faults:
        print("nodes left out: %d; %s" % (len(faults), "; ".join(faults[:3])), file=sys.stderr)
    if len(nodes) < len(last) * conf["haproxy"].getfloat("keep") and not shrink:
        raise Refused("PuppetDB has a server for %d nodes, the last map for %d; "
                      "if that is right, run haproxy-assign --shrink" % (len(nodes), len(last)))
    if nodes != last:
        haproxy.replace(nodes)
        changed = sum(nodes.get(address) != last.get(address) for address in set(nodes) | set(last))
        print("%d nodes, %d changed" % (len(nodes), changed))
    # A reload of HAProxy reads the file.
    write(path, "".join("%s %s\n" % entry for entry in sorted(nodes.items())))


def main():
    parser = argparse.ArgumentParser(prog="haproxy-assign")
    parser.add_argument("file", nargs="?", default="/etc/haproxy/assign/haproxy-assign.conf")
    parser.add_argument("--shrink", action="store_true", help="accept far fewer nodes than the last map has")
    args = parser.parse_args()
    conf = configparser.ConfigParser(interpolation=None)
    try:
        with open(args.file) as file:
            conf.read_file(file)
        lock = os.open(os.path.dirname(conf["haproxy"]["map"]), os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)  # one run at a time
        update(conf, args.shrink)
    except (Refused, OSError, configparser.Error, KeyError, ValueError) as err:
        sys.exit("haproxy-assign: %s; the last map stays" % err)


if __name__ == "__main__":
    main()
