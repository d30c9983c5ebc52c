package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the greatest length of a line of Go. A tab counts as one column, as in
// the linter lll.
const maxColumns = 120

func TestLinesFitTheScreen(t *testing.T) {
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skip("not a git checkout") // a source archive
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil && !os.IsNotExist(err) { // deleted, not yet committed
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if columns := utf8.RuneCountInString(line); columns > maxColumns {
				t.Errorf("%s:%d has %d columns", name, i+1, columns)
			}
		}
	}
}

// TestPackagesAreDocumented requires a comment on every package and every exported name. One comment may cover a
// whole group; errors and strings explain themselves.
func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		set := token.NewFileSet()
		docs, err := doc.NewFromFiles(set, parse(t, set, p), p.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		require := func(name, comment string) {
			if comment == "" && name != "Error" && name != "String" {
				t.Errorf("%s: %s has no comment", p.room, name)
			}
		}
		require("the package", docs.Doc)
		functions, values := docs.Funcs, slices.Concat(docs.Consts, docs.Vars)
		for _, typ := range docs.Types {
			require(typ.Name, typ.Doc)
			functions = slices.Concat(functions, typ.Funcs, typ.Methods)
			values = slices.Concat(values, typ.Consts, typ.Vars)
		}
		for _, f := range functions {
			require(f.Name, f.Doc)
		}
		for _, v := range values {
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				require(s.Names[0].Name, v.Doc+s.Doc.Text()+s.Comment.Text())
			}
		}
	}
}

// TestNoPackageVariableChanges allows errors, compiled patterns and embedded files.
// Any other package-level variable is shared state.
func TestNoPackageVariableChanges(t *testing.T) {
	fixed := regexp.MustCompile(`^\w+\.(New|Errorf|MustCompile)\(`)
	for _, p := range packages(t) {
		for _, f := range parse(t, token.NewFileSet(), p) {
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				embedded := g.Doc != nil && strings.HasPrefix(g.Doc.List[len(g.Doc.List)-1].Text, "//go:embed")
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					isFixed := len(v.Values) == 1 && fixed.MatchString(types.ExprString(v.Values[0]))
					if !embedded && !isFixed && v.Names[0].Name != "_" {
						t.Errorf("%s: var %s", p.room, v.Names[0].Name)
					}
				}
			}
		}
	}
}

// TestNumbersAreWhatThePageSays compares the page that says why a number is what it is with the source.
func TestNumbersAreWhatThePageSays(t *testing.T) {
	page, err := os.ReadFile("internal/NUMBERS.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{} // of each constant, and of each field of a literal, by package
	for _, p := range packages(t) {
		note := func(name, value ast.Expr) {
			key := path.Base(p.room) + "." + types.ExprString(name)
			values[key] = append(values[key], types.ExprString(value))
		}
		for _, f := range parse(t, token.NewFileSet(), p) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i := range n.Values {
						note(n.Names[i], n.Values[i])
					}
				case *ast.KeyValueExpr:
					note(n.Key, n.Value)
				}
				return true
			})
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| `(.+?)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("the page has %d rows", len(rows))
	}
	for _, row := range rows {
		if !slices.Contains(values[row[1]], row[2]) {
			t.Errorf("%s is %v, and %s on the page", row[1], values[row[1]], row[2])
		}
	}
}

func parse(t *testing.T, set *token.FileSet, p goPackage) (files []*ast.File) {
	t.Helper()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
