package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// godoc would show neither fields nor methods of an internal type, and programs could not
// declare a variable of it.
func TestPublicAPINamesNoInternalTypes(t *testing.T) {
	checked := 0
	for _, f := range goFiles(t) {
		if f.test || f.name == "main" || strings.HasPrefix(f.pkg, "internal") || strings.HasSuffix(f.pkg, "test") {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f.path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		checked++
		for _, found := range internalTypes(src) {
			t.Errorf("%s: %s: give the public package a type of its own", f.path, found)
		}
	}
	if checked == 0 {
		t.Error("no file was checked")
	}
}

func TestInternalTypesAreFound(t *testing.T) {
	const source = `package p

import (
	"io"

	"` + module + `/internal/plan"
	other "` + module + `/internal/base"
	"` + module + `/query"
)

type A = plan.Mode
type B struct{ F []other.Hit; hidden plan.Trace }
type C struct{ hidden plan.Trace; Q query.Node }
type D interface{ M(plan.Mode) }
type e = plan.Mode
var V plan.Mode
var W = other.Value
const X = plan.Constant
func F(io.Reader) *plan.Trace { return nil }
func (C) G(map[string]other.Hit) {}
func (e) H(plan.Mode) {}
func i(plan.Mode) { var _ plan.Mode }
func J() { var _ plan.Mode }
`
	src, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A names plan.Mode", "B names other.Hit", "D names plan.Mode", "V names plan.Mode", "F names plan.Trace", "G names other.Hit"}
	if got := internalTypes(src); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found %q, want %q", got, want)
	}
}

// internalTypes returns texts like "NAME names PACKAGE.TYPE".
func internalTypes(src *ast.File) (found []string) {
	internal := map[string]bool{}
	for _, s := range src.Imports {
		imported, _ := strconv.Unquote(s.Path.Value)
		if pkg, ok := inModule(imported); ok && strings.HasPrefix(pkg, "internal/") {
			name := path.Base(imported)
			if s.Name != nil {
				name = s.Name.Name
			}
			internal[name] = true
		}
	}
	report := func(name string, t ast.Node) {
		ast.Inspect(t, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field: // of a struct, a signature or an interface; unnamed ones are embedded or parameters
				return len(n.Names) == 0 || n.Names[0].IsExported() || !isStructField(t, n)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && internal[x.Name] {
					found = append(found, fmt.Sprintf("%s names %s.%s", name, x.Name, n.Sel.Name))
				}
			}
			return true
		})
	}
	for _, d := range src.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiverExported(d.Recv)) {
				report(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						report(s.Name.Name, s.Type)
					}
				case *ast.ValueSpec:
					if s.Type != nil && s.Names[0].IsExported() {
						report(s.Names[0].Name, s.Type)
					}
				}
			}
		}
	}
	return found
}

// isStructField is false for a signature.
func isStructField(t ast.Node, field *ast.Field) (is bool) {
	ast.Inspect(t, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				is = is || f == field
			}
		}
		return !is
	})
	return is
}

func receiverExported(r *ast.FieldList) (exported bool) {
	ast.Inspect(r.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}
