package arch

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// Limits of hand-written code. A test may be longer, since it has tables.
const (
	maxLines     = 500
	maxTestLines = 800
	maxMethods   = 40 // with those that embedded types promote
	maxFields    = 20
)

// larger lists the types that may exceed maxMethods or maxFields, each with its reason.
var larger = map[string]string{
	"..Query":                                "what a search can ask for is one flat struct",
	"cmd/griffin.app":                        "its own methods are the commands; it prints through its console",
	"cmd/griffin.benchResult":                "the JSON of bench is one flat object; its groups are embedded",
	"internal/gpu/imagesearch.termParams":    "the memory layout of a kernel's parameter",
	"internal/gpu/packedsearch.searchParams": "the memory layout of a kernel's parameter",
}

func TestFileSizes(t *testing.T) {
	for _, f := range goFiles(t) {
		limit := maxLines
		if f.test {
			limit = maxTestLines
		}
		if f.lines > limit && !f.made {
			t.Errorf("%s has %d lines, more than %d: one noun a file", f.path, f.lines, limit)
		}
	}
}

type typeSize struct {
	methods  map[string]bool // declared; of an interface, required
	fields   int             // named ones
	embedded []embedded
}

type embedded struct {
	name    string // "folder.Type" if the type is of the module
	pointer bool
}

func TestTypeSizes(t *testing.T) {
	sizes := typeSizes(goFiles(t))
	users := map[string]int{} // number of types that embed each
	for _, s := range sizes {
		for _, e := range s.embedded {
			users[e.name]++
		}
	}
	if len(sizes) < 100 {
		t.Fatalf("found %d types only", len(sizes))
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		methods, fields := len(sizes.methods(name)), sizes.fields(name, users)
		over := methods > maxMethods || fields > maxFields
		switch why := larger[name]; {
		case over && why == "":
			t.Errorf("%s has %d methods and %d fields, more than %d or %d: give a part of them a type", name, methods, fields, maxMethods, maxFields)
		case !over && why != "":
			t.Errorf("%s has %d methods and %d fields: remove it from the list of larger types", name, methods, fields)
		}
	}
	for name := range larger {
		if sizes[name] == nil {
			t.Errorf("the list of larger types has %s, which does not exist", name)
		}
	}
}

type sizesByType map[string]*typeSize

// With the methods that embedded types of the module promote.
func (all sizesByType) methods(name string) map[string]bool {
	out := map[string]bool{}
	var add func(name string, depth int)
	add = func(name string, depth int) {
		s := all[name]
		if s == nil || depth > 10 {
			return
		}
		maps.Copy(out, s.methods)
		for _, e := range s.embedded {
			add(e.name, depth+1)
		}
	}
	add(name, 0)
	return out
}

// An embedded type is one field if it is exported, if other types embed it too, or if it is
// embedded by pointer. Otherwise its fields count.
func (all sizesByType) fields(name string, users map[string]int) int {
	s := all[name]
	n := s.fields
	for _, e := range s.embedded {
		if part := all[e.name]; part == nil || e.pointer || users[e.name] > 1 || ast.IsExported(e.name[strings.LastIndexByte(e.name, '.')+1:]) {
			n++
			continue
		}
		n += max(all.fields(e.name, users), 1)
	}
	return n
}

func typeSizes(files []goFile) sizesByType {
	all := sizesByType{}
	get := func(name string) *typeSize {
		if all[name] == nil {
			all[name] = &typeSize{methods: map[string]bool{}}
		}
		return all[name]
	}
	for i := range files {
		f := &files[i]
		if f.test || f.made {
			continue
		}
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					receiver, _ := f.typeName(d.Recv.List[0].Type)
					get(receiver).methods[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					s := get(f.pkg + "." + ts.Name.Name)
					if of := f.sizeOf(ts.Type); of.fields+len(of.embedded) >= s.fields+len(s.embedded) { // build tags choose among declarations
						maps.Copy(s.methods, of.methods)
						s.fields, s.embedded = of.fields, of.embedded
					}
				}
			}
		}
	}
	return all
}

// The embedded types and methods of an interface count.
func (f *goFile) sizeOf(declared ast.Expr) *typeSize {
	s := &typeSize{methods: map[string]bool{}}
	var list []*ast.Field
	switch d := declared.(type) {
	case *ast.StructType:
		list = d.Fields.List
	case *ast.InterfaceType:
		list = d.Methods.List
	}
	_, isStruct := declared.(*ast.StructType)
	for _, field := range list {
		if len(field.Names) == 0 {
			name, pointer := f.typeName(field.Type)
			s.embedded = append(s.embedded, embedded{name, pointer})
		} else if isStruct {
			s.fields += len(field.Names)
		} else {
			s.methods[field.Names[0].Name] = true
		}
	}
	return s
}

// typeName is "folder.Type", without type arguments; types of other modules keep the name of
// their import. pointer: x is a pointer to it.
func (f *goFile) typeName(x ast.Expr) (name string, pointer bool) {
	switch x := x.(type) {
	case *ast.StarExpr:
		name, _ = f.typeName(x.X)
		return name, true
	case *ast.IndexExpr:
		return f.typeName(x.X)
	case *ast.IndexListExpr:
		return f.typeName(x.X)
	case *ast.Ident:
		return f.pkg + "." + x.Name, false
	case *ast.SelectorExpr:
		return f.folderOfImport(x.X.(*ast.Ident).Name) + "." + x.Sel.Name, false
	}
	return "", false
}

func (f *goFile) folderOfImport(name string) string {
	for i, spec := range f.syntax.Imports {
		folder, ok := inModule(f.imports[i])
		if !ok {
			continue
		}
		base := path.Base(folder)
		if folder == "." {
			base = path.Base(module)
		}
		if spec.Name != nil {
			base = spec.Name.Name
		}
		if base == name {
			return folder
		}
	}
	return name
}
