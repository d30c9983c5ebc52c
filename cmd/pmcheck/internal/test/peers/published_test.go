package peers_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A published master is in a container: another network namespace. nftables pass its port on, as Docker has them do.
type published struct {
	*lab.Site
	address string // at which this host publishes it
	inside  string // at which the container listens
}

// publish starts a master in a container, and makes the files of pmcheck on this host. The host and the container share
// a network that no other test uses, such as "198.18.7.".
func publish(t *testing.T, network string) published {
	t.Helper()
	lab.Need(t, "nft", "nftables")
	container := lab.StartNetwork(t)
	init := container.Command("sleep", "infinity")
	lab.StartProgram(t, init)
	waitFor(t, func() error {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", init.Process.Pid))
		if err == nil && string(comm) != "sleep\n" {
			err = fmt.Errorf("%s has not entered the container", comm)
		}
		return err
	})
	link := "pub" + strconv.Itoa(init.Process.Pid)
	host, inside := network+"2", network+"1"
	for _, args := range []string{
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", link, init.Process.Pid),
		fmt.Sprintf("address add %s/24 dev %s", host, link),
		fmt.Sprintf("link set %s up", link),
	} {
		lab.Output(t, exec.Command("ip", strings.Fields(args)...))
	}
	lab.Output(t, container.Command("ip", "address", "add", inside+"/24", "dev", "eth0"))
	lab.Output(t, container.Command("ip", "link", "set", "eth0", "up"))
	t.Cleanup(func() { _ = exec.Command("ip", "link", "delete", link).Run() })

	p := published{address: lab.Address(t, host), inside: net.JoinHostPort(inside, "8140")}
	table := fmt.Sprintf(`table ip %s {
    chain output {
        type nat hook output priority -100
        ip daddr %s tcp dport %s dnat to %s
    }
}
`, link, host, lab.Port(t, p.address), p.inside)
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(table)
	lab.Output(t, nft)
	t.Cleanup(func() { _ = exec.Command("nft", "delete", "table", "ip", link).Run() })

	p.Site = lab.NewSite(t, lab.SiteOptions{})
	lab.Must(t, p.Master.Close())
	lab.Must(t, container.Inside(func() error {
		master, err := checktest.NewMaster(p.Master.Dir, p.Master.Name, p.inside)
		if err == nil {
			p.Master = master
			t.Cleanup(func() { _ = master.Close() })
		}
		return err
	}))
	return p
}

// forward passes connections at localhost on, as docker-proxy does, and returns the address.
func (p published) forward(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:"+lab.Port(t, p.address))
	lab.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", p.inside)
				if err != nil {
					return
				}
				defer out.Close()
				go io.Copy(out, in)
				io.Copy(in, out)
			}()
		}
	}()
	return "localhost:" + lab.Port(t, p.address)
}

// TestDrainWaitSeesAgentsOfAMasterInAContainer: the kernel of this host shows no connection that DNAT passes on to a
// container, and HAProxy counts its sessions. Without HAProxy's view, nothing tells whether agents are at work. Where a
// program on this host has the connections, an idle connection is no agent, whatever HAProxy counts.
func TestDrainWaitSeesAgentsOfAMasterInAContainer(t *testing.T) {
	const view = "http-check send-state"
	const dnat, forwarder, here = "DNAT", "DNAT and a forwarder", "on this host"
	for i, tt := range []struct {
		where, check, waits string
	}{
		{dnat, view, "counts 1 session, and this host sees 0 connections"},
		{forwarder, view, "counts 1 session, and this host sees 0 connections"},
		{dnat, "", "agents may be at work: nothing listens at"},
		{here, view, ""},
	} {
		t.Run(strings.TrimSpace(tt.where+" "+tt.check), func(t *testing.T) {
			lab.Real(t)
			t.Parallel()
			var site *lab.Site
			address := ""
			if tt.where == here {
				site = lab.NewSite(t, lab.SiteOptions{})
				address = site.MasterAddress()
			} else {
				p := publish(t, fmt.Sprintf("198.18.%d.", i+1))
				site, address = p.Site, p.address
				probed := address
				if tt.where == forwarder {
					probed = p.forward(t)
				}
				config := regexp.MustCompile(`address: \S+}`).ReplaceAllLiteralString(lab.Read(t, site.ConfigFile()),
					fmt.Sprintf("address: %q}", probed))
				lab.Write(t, site.ConfigFile(), config)
			}
			site.Start()
			site.WaitServing(20 * time.Second)

			agents := lab.Address(t, "127.0.0.1")
			h := lab.StartHAProxy(t, fmt.Sprintf(`listen puppet
    bind %s
    balance first
    option httpchk GET /?drain=404
    http-check disable-on-404
    %s
    server puppet1 %s check addr 127.0.0.1 port %s inter 500ms
    server puppet2 127.0.0.1:1
`, agents, tt.check, address, lab.Port(t, site.Listen)))
			h.WaitStatus("puppet", "puppet1", "UP", 10*time.Second)
			lab.WaitFor(t, 10*time.Second, 10*time.Millisecond, func() error {
				if status := h.Stat("puppet", "puppet1"); status.CheckStatus != "L7OK" {
					return fmt.Errorf("not checked: %+v", status)
				}
				return nil
			})

			agent, err := tls.Dial("tcp", agents, &tls.Config{InsecureSkipVerify: true})
			lab.Must(t, err)
			defer agent.Close()
			_, err = io.WriteString(agent, "GET /status/v1/simple HTTP/1.1\r\nHost: puppet\r\n\r\n")
			lab.Must(t, err)
			_, err = agent.Read(make([]byte, 1))
			lab.Must(t, err)

			out, code := site.Run("drain", "--wait", "--timeout", "12s")
			if tt.waits == "" {
				if code != 0 {
					t.Errorf("the agent is idle, and drain --wait ended with %d: %s", code, out)
				}
				return
			}
			if code != 6 || !strings.Contains(blocker.Summary(site.Status().Services[0].Departure.Blockers), tt.waits) {
				t.Errorf("an agent has a connection, and drain --wait ended with %d: %s\n%v", code, out,
					site.Status().Services[0].Departure.Blockers)
			}
			if tt.check == "" {
				return
			}

			agent.Close()
			site.MustRun("drain", "--wait", "--timeout", "30s")
		})
	}
}
