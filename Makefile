# Run make help for a list of targets.

GO      ?= go
TOOLS    = $(GO) tool -modfile=.tools/go.mod
VERSION ?= $(shell packaging/version)
REVISION ?= $(shell packaging/version commit)
FUZZTIME ?= 20s

# Where make build puts the program, and make install what a package has. Each is below DESTDIR.
BIN        ?= bin/pmcheck
PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
SHARE       = $(DESTDIR)$(PREFIX)/share
LIB         = $(DESTDIR)$(PREFIX)/lib

# The real programs that make integration runs pmcheck against, by Debian package; and
# those that only make test-all needs.
PARTS = puppetserver puppet-agent puppetdb postgresql haproxy xinetd curl openssl iproute2 btrfs-progs \
	util-linux systemd dbus bash gcc libc6-dev
MORE = chromium puppet-lint puppet-strings metadata-json-lint ruby-rspec-puppet facterdb ansible-core ansible-lint \
	ruby-puppetlabs-spec-helper rubocop ruby-rubocop-rspec \
	puppet-module-puppetlabs-apt puppet-module-puppetlabs-stdlib puppet-module-puppetlabs-concat puppet-module-puppetlabs-haproxy \
	puppet-module-puppetlabs-postgresql puppet-module-camptocamp-systemd \
	prometheus jsonnet keepalived gdnsd nftables nginx-light libnginx-mod-stream lintian rpm rpmlint \
	apt-utils createrepo-c dnf buildah jq socat \
	bindfs mandoc shellcheck gnupg secilc icinga2-bin monitoring-plugins-basic mmdebstrap qemu-user-static \
	$(if $(shell command -v npm),,npm)

# What make test-all adds: packages that test whether it works, two at a time, and
# those that test how long it takes, each alone.
WORKS = $(addprefix ./cmd/pmcheck/internal/test/,packages e2e module versions budget peers browser)
TIMED = $(addprefix ./cmd/pmcheck/internal/test/,pool faults)

# The pools that make test-all operates. With EverythingAtOnce, OneVoiceAlone and BalancerOnTheMastersHost it takes a
# quarter of an hour longer.
POOLS ?= Pool

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

# The tags leave out what pmcheck does not use: HTTP/2, and manuals made from the flags. That is
# 0.8 MB of the program.
TAGS = $(shell cat packaging/tags)

# A position-independent program would be 2 MB larger, and 1.7 MiB of it would be written to, for
# relocations, in each process. Random addresses protect against the use of memory errors, which Go
# does not have.
ABOUT = github.com/prometheus/common/version
FLAGS = -trimpath -buildvcs=false -tags $(TAGS) \
	-ldflags '-s -w -X $(ABOUT).Version=$(VERSION) -X $(ABOUT).Revision=$(REVISION)'

.PHONY: build
build: ## build bin/pmcheck
	CGO_ENABLED=0 $(GO) build $(FLAGS) -o $(BIN) ./cmd/pmcheck

.PHONY: demo
demo: build ## run the daemon on localhost:9200 against a simulated Puppet Server
	bin/pmcheck demo

# The completion is printed by a program for this machine, whatever GOARCH is.
.PHONY: install
install: build ## install what a package does, below DESTDIR and PREFIX
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/pmcheck
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/libexec/pmcheck packaging/lib/*
	install -D -m 0644 -t $(LIB)/systemd/system systemd/*.service systemd/*.socket systemd/*.path
	sed -i -E 's,=(-?)/usr/(bin|libexec)/,=\1$(PREFIX)/\2/,' $(LIB)/systemd/system/pmcheck*
	install -D -m 0644 -t $(LIB)/systemd/system/pmcheck-.service.d systemd/pmcheck-.service.d/*
	install -D -m 0644 -t $(LIB)/sysusers.d packaging/sysusers.d/*
	install -D -m 0644 -t $(LIB)/tmpfiles.d packaging/tmpfiles.d/*
	install -D -m 0644 -t $(LIB)/firewalld/services packaging/firewalld/*
	install -D -m 0644 -t $(SHARE)/man/man5 packaging/man/*.5
	install -D -m 0644 -t $(SHARE)/man/man8 packaging/man/*.8
	install -d $(SHARE)/bash-completion/completions
	GOARCH= GOOS= $(GO) run $(FLAGS) ./cmd/pmcheck completion >$(SHARE)/bash-completion/completions/pmcheck
	install -d $(SHARE)/doc/pmcheck
	cp -r --no-preserve=mode packaging/doc/. examples $(SHARE)/doc/pmcheck
	chmod -R u=rwX,go=rX $(SHARE)/doc/pmcheck
	sed -i 's|](../../examples/|](examples/|g' $(SHARE)/doc/pmcheck/*.md
	sed -i 's|](../../packaging/doc/|](../../|g' $(SHARE)/doc/pmcheck/examples/*/*.md
	test -e $(DESTDIR)$(SYSCONFDIR)/pmcheck/pmcheck.yaml || \
	  install -D -m 0644 -t $(DESTDIR)$(SYSCONFDIR)/pmcheck packaging/pmcheck.yaml

.PHONY: test
test: quick lint ## the quick tests and lint; needs Go and git alone

# The race detector needs a C compiler; without one, Go has cgo off. CI must have one. A random order of the tests may
# fail by chance: SHUFFLE=on.
RACE     = $(if $(CI)$(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
SHUFFLE ?= 1

.PHONY: quick
quick: ## the tests that need nothing but Go
	@test -n '$(RACE)' || echo 'There is no C compiler, so the race detector is not used.'
	$(GO) test $(RACE) -short -shuffle=$(SHUFFLE) ./...

.PHONY: unit
unit: ## the same, without the race detector
	$(GO) test -short ./...

.PHONY: integration
integration: deps ## against the real Puppet Server and HAProxy; twenty minutes, needs root
	$(GO) test -race -timeout 60m ./cmd/pmcheck/internal/test/e2e

.PHONY: test-all
test-all: test deps-all ## and packages, module, other balancers, browser, Debian 11 and 13, a pool, faults; an hour
	$(GO) test -race -p 2 -timeout 60m $(WORKS)
	$(GO) test -race -p 1 -timeout 60m -run '^Test($(POOLS)|Faults)$$' $(TIMED)

# The tables of packaging/doc/proof.md, each written by the command that measures it.
.PHONY: proof
proof: export LAB_PROOF = $(CURDIR)/packaging/doc/proof.md
proof: ## measure everything, and write packaging/doc/proof.md; most of a day
	$(GO) test -count 1 -v -timeout 1h -run '^TestStates$$' ./cmd/pmcheck/internal/test/e2e
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 1h -run '^Test(LeavingInTheSameMoment|Doubts)$$' ./cmd/pmcheck/internal/test/e2e
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 1h -run '^TestHundred' ./cmd/pmcheck/internal/test/budget
	$(MAKE) explore bench faults soak e2e

.PHONY: explore
explore: ## every schedule in which masters may leave, in virtual time; a quarter of an hour
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 2h -run '^TestEverySchedule$$' ./cmd/pmcheck/internal/balancer

.PHONY: e2e
e2e: deps-all ## a pool of masters restarted, upgraded and rebooted under load, beside the xinetd check; herds of agents; three hours
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 6h ./cmd/pmcheck/internal/test/pool

.PHONY: faults
faults: deps ## everything that can go wrong, done to a real master; a quarter of an hour
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 1h ./cmd/pmcheck/internal/test/faults

# The first run makes roots of other Debian releases, minutes each.
.PHONY: versions
versions: deps-all ## HAProxy, the DEB and masters of Debian 11 to 14, and arm64; half an hour
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 1h ./cmd/pmcheck/internal/test/versions
	PMCHECK_LONG=1 $(GO) test -count 1 -v -timeout 1h -run OnEachPuppet ./cmd/pmcheck/internal/test/module

SOAK ?= 15m

.PHONY: soak
soak: deps ## checks, toggles, rotations and restarts for a quarter of an hour, or SOAK=2h
	PMCHECK_SOAK=$(SOAK) $(GO) test -count 1 -v -timeout 0 ./cmd/pmcheck/internal/test/soak

.PHONY: bench
bench: deps ## measure against HAProxy and the xinetd check
	$(GO) test -run '^$$' -bench 'Cost|Noticing|BadNetwork' -benchtime 1x -timeout 2h ./cmd/pmcheck/internal/test/bench

.PHONY: pictures
pictures: deps-all ## take the pictures in the documents anew, from the running program
	LAB_PICTURES=1 $(GO) test -count 1 -run Pictures ./cmd/pmcheck/internal/test/browser

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) \
	      -fuzzminimizetime 100x $$p || exit 1; \
	  done; \
	done

# A mutant that no test notices is a promise without a test, or makes no difference. Simulated pools and schedules are
# left out: they find most mutants, and name none. gremlins reads the tree while it runs, so it must not change. It
# takes no flags for go test.
GREMLINS = github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
SIMULATED = TestEverySchedule|TestSimulatedPools|TestThirtyMasters|TestAStrangerTakes|HarmsNobody|TestHostsThatReboot

.PHONY: mutants
mutants: export GOFLAGS = -short -count=1 -vet=off -parallel=32 -skip=$(SIMULATED)
mutants: ## mutation testing of what decides who may leave, of holds and of the checks; an hour
	@for p in drain check cmd/pmcheck/internal/answer cmd/pmcheck/internal/balancer cmd/pmcheck/internal/leave \
	  cmd/pmcheck/internal/fleet cmd/pmcheck/internal/front cmd/pmcheck/internal/status; do \
	  $(GO) run $(GREMLINS) unleash --workers 2 --timeout-coefficient 10 --threshold-efficacy 90 \
	    -E '^(bounded|checktest|puppetclient|text)/' ./$$p || exit 1; \
	done

.PHONY: lint
lint: ## gofmt, vet, staticcheck, gocognit, actionlint, tidy go.mod, and shellcheck if it is installed
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(TOOLS) staticcheck ./...
	$(TOOLS) gocognit -over 15 -ignore '_test\.go|/test/|/checktest/' check cmd drain systemd
	@! test -e .git || $(TOOLS) actionlint # it looks for workflows in a checkout only
	@! command -v shellcheck >/dev/null || { \
	  echo shellcheck; grep -rlE '^#!/(usr/bin/env |bin/)(ba)?sh' .ci packaging examples | xargs shellcheck; }

# Without its database govulncheck cannot check anything; that is reported, but is not a failure.
.PHONY: vuln
vuln: ## known vulnerabilities in what pmcheck links
	@out=$$($(TOOLS) govulncheck ./... 2>&1); status=$$?; echo "$$out"; \
	case "$$status $$out" in \
	  "0 "*) ;; \
	  *"fetching vulnerabilities"*) echo 'NOT CHECKED for vulnerabilities: the database cannot be reached' ;; \
	  *) exit 1 ;; \
	esac

.PHONY: deps deps-all
deps-all: PARTS += $(MORE)
deps deps-all: ## install the Debian packages that the tests need and that are missing
	@missing=$$(for p in $(PARTS); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || printf ' %s' $$p; done); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "missing:$$missing (the tests want Debian's packages)"; exit 1; fi; \
	echo "installing$$missing"; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing

.PHONY: dist
dist: ## the source archive in dist/
	packaging/build dist

.PHONY: packages
packages: ## DEB and RPM for amd64 and arm64, repositories with them, and the Puppet module, in dist/
	packaging/build packages amd64 arm64

.PHONY: release
release: ## packages, archives, SBOMs and checksums in dist/, signed with SIGNING_KEY
	packaging/build release amd64 arm64

.PHONY: mixin
mixin: ## write the rules and the dashboard in examples from examples/mixin; needs jsonnet
	jsonnetfmt -i examples/mixin/*.jsonnet examples/mixin/*.libsonnet
	jsonnet -S -o examples/prometheus/rules.yml examples/mixin/rules.jsonnet
	jsonnet -o examples/grafana/pmcheck.json examples/mixin/dashboard.jsonnet

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
