//go:build linux

package peers_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// Balancers that are not in Debian cannot be run. The tests read their examples and send
// the health checks that are configured there.

// A written holds the health check in one example. Its conclusion from an answer is "send",
// "drained" or "down".
type written struct {
	name     string
	request  string // as the balancer sends it
	conclude func(statusLine string) string
	drained  string // the conclusion about a drained master
}

func TestHealthChecksInTheExamplesOfOtherBalancersAreRight(t *testing.T) {
	lab.Real(t)
	d := lab.StartDemo(t, network(t, first), first)
	checks := []written{f5Check(t), awsCheck(t), envoyCheck(t)}
	for _, step := range []struct {
		word, body string
		want       func(written) string
	}{
		{"ready", serving, func(written) string { return "send" }},
		{"drain", "drain", func(w written) string { return w.drained }},
		{"maint", "maint", func(written) string { return "down" }},
		{"ready", serving, func(written) string { return "send" }},
		{"stopped", "unhealthy: refused", func(written) string { return "down" }},
	} {
		d.Type(step.word, step.body)
		for _, w := range checks {
			if got := w.conclude(askRaw(t, d, w.request)); got != step.want(w) {
				t.Errorf("%s after %q: the balancer concludes %q, want %q", w.name, step.word, got, step.want(w))
			}
		}
	}
}

// askRaw sends a request unchanged and returns the status line.
func askRaw(t *testing.T, d *lab.Demo, request string) string {
	t.Helper()
	conn, err := d.Net.DialContext(context.Background(), "tcp", d.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// only200 returns "send" for a 200, and "down" for everything else.
func only200(statusLine string) string {
	if fields := strings.Fields(statusLine); len(fields) > 1 && fields[1] == strconv.Itoa(http.StatusOK) {
		return "send"
	}
	return "down"
}

func f5Check(t *testing.T) written {
	t.Helper()
	config := lab.Read(t, example(t, "f5/pmcheck.conf"))
	if opened, closed := strings.Count(config, "{"), strings.Count(config, "}"); opened != closed {
		t.Errorf("f5: %d opening and %d closing braces", opened, closed)
	}
	setting := func(name string) string {
		found := regexp.MustCompile(`(?m)^ +` + name + ` "(.*)"$`).FindStringSubmatch(config)
		if found == nil {
			t.Fatalf("f5: no %s", name)
		}
		return found[1]
	}
	if !strings.Contains(config, "destination *:9200\n") {
		t.Error("f5: the monitor does not ask port 9200")
	}
	up, disabled := regexp.MustCompile(setting("recv")), regexp.MustCompile(setting("recv-disable"))
	return written{
		name:    "F5",
		request: strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(setting("send")),
		drained: "drained",
		conclude: func(line string) string {
			switch {
			case up.MatchString(line):
				return "send"
			case disabled.MatchString(line):
				return "drained"
			}
			return "down"
		},
	}
}

// aws is the part of the CloudFormation template that the test reads.
type aws struct {
	Resources struct {
		Targets struct {
			Properties struct {
				Protocol string `yaml:"Protocol"`
				Port     int    `yaml:"Port"`
				Check    string `yaml:"HealthCheckProtocol"`
				Asked    string `yaml:"HealthCheckPort"`
				Path     string `yaml:"HealthCheckPath"`
				Interval int    `yaml:"HealthCheckIntervalSeconds"`
				Timeout  int    `yaml:"HealthCheckTimeoutSeconds"`
				Matcher  struct {
					Code string `yaml:"HttpCode"`
				} `yaml:"Matcher"`
			} `yaml:"Properties"`
		} `yaml:"Targets"`
	} `yaml:"Resources"`
}

func awsCheck(t *testing.T) written {
	t.Helper()
	var template aws
	decode(t, "aws/nlb.yaml", &template)
	group := template.Resources.Targets.Properties
	if group.Protocol != "TCP" || group.Port != 8140 || group.Check != "HTTP" || group.Asked != "9200" ||
		group.Matcher.Code != "200" || group.Timeout >= group.Interval {
		t.Errorf("aws: want TCP on 8140, an HTTP check of 9200 for 200, and a timeout below the interval; got %+v", group)
	}
	return written{
		name: "AWS NLB",
		request: "GET " + group.Path +
			" HTTP/1.1\r\nHost: 192.0.2.11:9200\r\nConnection: close\r\nUser-Agent: ELB-HealthChecker/2.0\r\n\r\n",
		conclude: only200,
		drained:  "down",
	}
}

// envoy is the part of Envoy's bootstrap configuration that the test reads.
type envoy struct {
	Static struct {
		Listeners []any
		Clusters  []struct {
			Checks []struct {
				HTTP struct{ Host, Path string } `yaml:"http_health_check"`
			} `yaml:"health_checks"`
			Load struct {
				Endpoints []struct {
					Hosts []struct {
						Endpoint struct {
							Check struct {
								Port int `yaml:"port_value"`
							} `yaml:"health_check_config"`
						}
					} `yaml:"lb_endpoints"`
				}
			} `yaml:"load_assignment"`
		}
	} `yaml:"static_resources"`
}

func envoyCheck(t *testing.T) written {
	t.Helper()
	var config envoy
	decode(t, "envoy/envoy.yaml", &config)
	if len(config.Static.Listeners) != 1 || len(config.Static.Clusters) != 1 ||
		len(config.Static.Clusters[0].Checks) != 1 {
		t.Fatalf("envoy: want one listener and one cluster with one health check, got %+v", config)
	}
	cluster, hosts := config.Static.Clusters[0], 0
	for _, locality := range cluster.Load.Endpoints {
		for _, host := range locality.Hosts {
			hosts++
			if host.Endpoint.Check.Port != 9200 {
				t.Errorf("envoy checks port %d, want 9200", host.Endpoint.Check.Port)
			}
		}
	}
	if hosts != 2 {
		t.Errorf("envoy has %d masters, want 2", hosts)
	}
	asked := cluster.Checks[0].HTTP
	return written{
		name:     "Envoy",
		request:  "GET " + asked.Path + " HTTP/1.1\r\nhost: " + asked.Host + "\r\nuser-agent: Envoy/HC\r\n\r\n",
		conclude: only200,
		drained:  "down",
	}
}
