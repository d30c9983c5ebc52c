package main

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the greatest length of a line of Go. A tab counts as one column, as in
// the linter lll.
const maxColumns = 120

// maxLines is the greatest number of lines in a package, without its tests. The packages
// check and config are exempt: they are lists that grow with every check and setting.
const maxLines = 2000

func TestLinesFitTheScreen(t *testing.T) {
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skip("not a git checkout") // a source archive
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		f, err := os.Open(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for s := bufio.NewScanner(f); s.Scan(); {
			n++
			columns := utf8.RuneCountInString(s.Text())
			if columns > maxColumns {
				t.Errorf("%s:%d has %d columns", name, n, columns)
			}
		}
		f.Close()
	}
}

func TestPackagesAreSmall(t *testing.T) {
	for _, p := range packages(t) {
		lines := 0
		for _, name := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(data), "\n")
		}
		if lines > maxLines && p.room != "check" && p.room != "config" {
			t.Errorf("%s has %d lines, more than %d", p.room, lines, maxLines)
		}
	}
}

// TestPackagesAreDocumented requires a comment on every package and every
// exported name.
func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		documented := false
		for _, f := range parse(t, p) {
			documented = documented || f.Doc != nil
			for _, d := range f.Decls {
				for _, name := range undocumented(d) {
					t.Errorf("%s: %s has no comment", p.room, name)
				}
			}
		}
		if !documented {
			t.Errorf("%s has no package comment", p.room)
		}
	}
}

// undocumented returns the exported names in a declaration that have no comment. One
// comment may cover a whole group.
func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && d.Name.Name != "Error" && d.Name.Name != "String" {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, ok := of.(*ast.Ident)
	return ok && name.IsExported()
}

// TestNoPackageVariableChanges allows errors, compiled patterns and embedded files.
// Any other package-level variable is shared state.
func TestNoPackageVariableChanges(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range parse(t, p) {
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				embedded := g.Doc != nil && strings.HasPrefix(g.Doc.List[len(g.Doc.List)-1].Text, "//go:embed")
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					if !embedded && v.Names[0].Name != "_" && !isFixed(v) {
						t.Errorf("%s: var %s", p.room, v.Names[0].Name)
					}
				}
			}
		}
	}
}

// isFixed reports whether a variable is the result of a function such as errors.New,
// fmt.Errorf or regexp.MustCompile.
func isFixed(v *ast.ValueSpec) bool {
	if len(v.Values) != 1 {
		return false
	}
	call, ok := v.Values[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"New", "Errorf", "MustCompile"}, f.Sel.Name)
}

func parse(t *testing.T, p goPackage) (files []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
