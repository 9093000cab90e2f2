// Racetests lists the tests that the race detector can find something in: tests that reach
// the start of a goroutine in their own package.
//
//	racetests [-v] ROOT
//
// It prints the packages below ROOT with such tests, as paths for go test, and then a line
// "-run" with a regular expression of the tests' names. With -v it prints each package with
// its number of tests and of tests found instead.
//
// A test starts a goroutine if its function, or one it may call, has a go statement or calls
// a function in starters. Calls are resolved by name only, within the folder of the package
// and the folders below it whose names end in "test": a call of x.Close may call every
// function and method Close there. This finds too many tests, never too few, except for calls
// through function values and interfaces of other packages. A test whose goroutines all start in another package is not listed: the
// tests of that package are.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// starters are functions and methods of other modules, by name, that run their argument or a
// server on a new goroutine, and SearchBatch, whose goroutines call the code of several packages.
var starters = map[string]bool{"SearchBatch": true, "Go": true, "AfterFunc": true, "NewServer": true, "NewUnstartedServer": true}

// elsewhere are the packages whose goroutines only their importers' tests start, each with the
// called functions, which count as starters.
var elsewhere = map[string][]string{
	"./internal/inverter":          {"Invert"},
	"./internal/papers/enginetest": {"CompareAnswers", "CompareRandom"},
}

var omitted = []string{"tools", "bench", ".build", ".git", "testdata"}

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "print the number of tests of each package")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: racetests [-v] ROOT")
	}
	if err := list(os.Stdout, flag.Arg(0), *verbose); err != nil {
		log.Fatal("racetests: ", err)
	}
}

func list(w io.Writer, root string, verbose bool) error {
	all := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if path != root && (slices.Contains(omitted, d.Name()) || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if name != "." {
			name = "./" + filepath.ToSlash(name)
		}
		f, err := read(path)
		if err != nil {
			return err
		}
		found := f.racing()
		if len(found) == 0 && f.starts && len(elsewhere[name]) == 0 {
			return fmt.Errorf("the code of %s starts goroutines, its tests none: enter the function that other packages call in the list \"elsewhere\" of tools/racetests", name)
		}
		tests := len(f.tests)
		if tests == 0 || len(found) == 0 && !verbose {
			return nil
		}
		if verbose {
			fmt.Fprintf(w, "%s %d of %d\n", name, len(found), tests)
			return nil
		}
		fmt.Fprintln(w, name)
		for _, test := range found {
			all[test] = true
		}
		return nil
	})
	if err != nil || verbose {
		return err
	}
	_, err = fmt.Fprintf(w, "-run\n^(%s)$\n", strings.Join(slices.Sorted(maps.Keys(all)), "|"))
	return err
}

// For all functions of one name in a folder.
type function struct {
	starts bool // a goroutine
	calls  map[string]bool
}

// folder is a package with the test-support packages below it.
type folder struct {
	functions map[string]*function
	tests     []string
	starts    bool // a goroutine, outside tests and test support
}

func read(path string) (*folder, error) {
	own, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		return nil, err
	}
	support, err := filepath.Glob(filepath.Join(path, "*test", "*.go"))
	if err != nil {
		return nil, err
	}
	f := &folder{functions: map[string]*function{}}
	for i, path := range append(own, support...) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		isTest := strings.HasSuffix(path, "_test.go")
		for _, decl := range file.Decls {
			d, is := decl.(*ast.FuncDecl)
			if !is || d.Body == nil {
				continue
			}
			name := d.Name.Name
			added := function{calls: map[string]bool{}}
			added.add(d.Body)
			switch {
			case i >= len(own):
			case !isTest:
				f.starts = f.starts || added.starts
			case strings.HasPrefix(name, "Test") && d.Recv == nil && name != "TestMain":
				f.tests = append(f.tests, name)
			}
			if of := f.functions[name]; of != nil {
				added.starts = added.starts || of.starts
				maps.Copy(added.calls, of.calls)
			}
			f.functions[name] = &added
		}
	}
	return f, nil
}

func (f *folder) racing() (found []string) {
	for changed := true; changed; {
		changed = false
		for _, caller := range f.functions {
			for name := range caller.calls {
				if called := f.functions[name]; called != nil && called.starts && !caller.starts {
					caller.starts, changed = true, true
				}
			}
		}
	}
	for _, name := range f.tests {
		if f.functions[name].starts {
			found = append(found, name)
		}
	}
	return found
}

// A name counts as a call wherever it stands, since a function may be passed on.
func (f *function) add(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			f.starts = true
		case *ast.CallExpr:
			if s, is := n.Fun.(*ast.SelectorExpr); is && (starters[s.Sel.Name] || isElsewhere(s.Sel.Name)) {
				f.starts = true
			}
		case *ast.Ident:
			f.calls[n.Name] = true
		}
		return true
	})
}

func isElsewhere(name string) bool {
	for _, starters := range elsewhere {
		if slices.Contains(starters, name) {
			return true
		}
	}
	return false
}
