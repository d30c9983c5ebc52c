package check_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// TestOnlyTheMasterItselfTakesItOut: what masters share, and what pmcheck holds or cannot find out, ends no verdict. It
// only keeps the next from being found, until the last is stale.
func TestOnlyTheMasterItselfTakesItOut(t *testing.T) {
	start := time.Now()
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			if cause.Begins == "" || cause.Ends == "" {
				t.Errorf("%s: begins by %q, ends by %q", cause.Reason, cause.Begins, cause.Ends)
			}
			ejects := cause.Health != "" && cause.Health != check.Unknown && !cause.Health.Serves()
			switch cause.Owner {
			case check.OfMaster:
			case check.OfPool, check.OfPmcheck:
				if ejects {
					t.Errorf("%s takes masters out: %s, of %s", cause.Reason, cause.Health, cause.Owner)
				}
			default:
				t.Errorf("%s: whose fault is it? %q", cause.Reason, cause.Owner)
			}
			if c.Shared && cause.Health != "" && cause.Health != check.Unknown {
				t.Errorf("%s gives %s by the shared check %s", cause.Reason, cause.Health, c.Name)
			}
			if c.Name != check.CheckProbe {
				continue
			}

			j := check.Judge{MaxAge: time.Minute}
			j.Observe(result(start, check.OK))
			after := j.Observe(result(start.Add(time.Second), cause.Reason))
			if isOut := !after.Health.Serves(); isOut != ejects {
				t.Errorf("%s: a healthy master is %s", cause.Reason, after)
			}
			if again := j.Observe(result(start.Add(2*time.Second), check.OK)); again.Health != check.Healthy {
				t.Errorf("%s: %s after a good answer", cause.Reason, again)
			}
		}
	}
	if stale := (check.Verdict{Health: check.Healthy, Expires: start}).At(start); stale.Health.Serves() {
		t.Errorf("%s, and serves", stale)
	}
}

// TestTheTableOfReasonsHasWhatTheCodeGives: the worst health that the code gives with a reason is the one in the table.
func TestTheTableOfReasonsHasWhatTheCodeGives(t *testing.T) {
	healths := map[string]check.Health{"Busy": check.Busy, "Warming": check.Warming, "Unhealthy": check.Unhealthy}
	order := []check.Health{"", check.Busy, check.Warming, check.Unhealthy}
	reasons := map[string]check.Reason{} // by the name of the constant
	given := map[check.Reason]check.Health{}
	var calls []*ast.CallExpr
	for _, file := range must(filepath.Glob("*.go")) {
		for n := range ast.Preorder(must(parser.ParseFile(token.NewFileSet(), file, nil, 0))) {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if value, is := literal(n); is {
					reasons[n.Names[0].Name] = value
				}
			case *ast.CallExpr:
				if f, is := n.Fun.(*ast.Ident); is && (f.Name == "finding" || f.Name == "out") {
					calls = append(calls, n)
				}
			}
		}
	}
	for _, call := range calls {
		var health check.Health
		var reason check.Reason
		for _, arg := range call.Args {
			if name, is := arg.(*ast.Ident); is {
				health = max(health, healths[name.Name])
				reason = max(reason, reasons[name.Name])
			}
		}
		if slices.Index(order, health) >= slices.Index(order, given[reason]) {
			given[reason] = health
		}
	}
	if len(given) < 10 {
		t.Fatalf("%v: the calls were not found", given)
	}
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			// What the probe meets has its health from the table.
			if health, is := given[cause.Reason]; is && health != cause.Health {
				t.Errorf("%s: the table has %q, the code gives %q", cause.Reason, cause.Health, health)
			} else if !is && c.Name != check.CheckProbe && cause.Health != "" && cause.Health != check.Unknown {
				t.Errorf("%s: the table has %q, the code gives none", cause.Reason, cause.Health)
			}
		}
	}
}

// literal returns the text of a constant of type Reason.
func literal(of *ast.ValueSpec) (check.Reason, bool) {
	named, is := of.Type.(*ast.Ident)
	if !is || named.Name != "Reason" || len(of.Values) != 1 {
		return "", false
	}
	text, is := of.Values[0].(*ast.BasicLit)
	if !is {
		return "", false
	}
	return check.Reason(text.Value[1 : len(text.Value)-1]), true
}
