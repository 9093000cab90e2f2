package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/griffin-search/griffin"

const root = "../.."

// goFile is a file for any build tags.
type goFile struct {
	path    string // slash-separated, from the module root
	pkg     string // folder of it, "." for the root
	name    string // package clause
	test    bool
	imports []string
	fuzz    []string // names of its func FuzzXxx
	doc     bool     // has a package comment
	lines   int
	made    bool      // by a generator
	syntax  *ast.File // nil for tests
}

func inModule(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

var scanOnce = sync.OnceValues(scan)

func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := scanOnce()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func packages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, f := range goFiles(t) {
		out = append(out, f.pkg)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// walk leaves out ignored and hidden files, testdata and, unless nested, nested modules.
func walk(nested bool, fn func(name string) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if !d.IsDir() {
			return fn(name)
		}
		base := path.Base(name)
		if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || name == "bin" || name == "shared") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && name != "." && !nested {
			return fs.SkipDir
		}
		return nil
	})
}

func scan() ([]goFile, error) {
	var files []goFile
	err := walk(false, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(name)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

func parse(name string) (goFile, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return goFile{}, err
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return goFile{}, err
	}
	f := goFile{
		path: name, pkg: path.Dir(name), name: syntax.Name.Name,
		test:  strings.HasSuffix(name, "_test.go"),
		doc:   syntax.Doc != nil,
		lines: bytes.Count(text, []byte("\n")),
		made:  ast.IsGenerated(syntax),
	}
	if !f.test {
		f.syntax = syntax
	}
	for _, imp := range syntax.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return goFile{}, err
		}
		f.imports = append(f.imports, p)
	}
	for _, decl := range syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && f.test && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			f.fuzz = append(f.fuzz, fn.Name.Name)
		}
	}
	return f, nil
}
