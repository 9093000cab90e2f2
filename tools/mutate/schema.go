package main

import (
	"bytes"
	"context"
	_ "embed" // support
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// schema is a package with all its mutants compiled in, of which the environment selects one
// (Untch, Offutt and Harrold, "Mutation analysis using mutant schemata", ISSTA 1993). So a
// package is compiled once, and only the tests that reach a mutant are run.
type schema struct {
	dir     string // of the changed sources and the programs
	mutants []mutant
	without map[int]bool // mutants that could not be compiled in
	tests   []testProgram
}

// testProgram is the tests of a package, compiled.
type testProgram struct{ Pkg, Path string }

const (
	mutantVariable = "MUTATE_MUTANT" // number of the mutant
	recordVariable = "MUTATE_RECORD" // file whose byte n becomes 1 when mutant n is reached
)

//go:embed support.txt
var support string

// compileTries bounds the compilations of the package, each without the mutants that failed.
const compileTries = 12

// newSchema writes to the folder out. tests are the packages with tests, the mutants' own first.
func newSchema(ctx context.Context, s settings, out string, mutants []mutant, tests []string) (*schema, error) {
	c := &schema{dir: out, mutants: mutants, without: map[int]bool{}}
	p, err := loadPackage(ctx, s, tests[0])
	if err != nil {
		return nil, err
	}
	overlay := ""
	for range compileTries {
		if overlay, err = c.write(p); err != nil {
			return nil, err
		}
		var text []byte
		text, err = c.compile(ctx, s, overlay, 0, tests[0])
		if err == nil {
			break
		}
		if !c.leaveOut(text) {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", tests[0], err, text)
		}
	}
	if err != nil {
		return nil, err
	}
	for i, pkg := range tests {
		if i > 0 {
			if text, err := c.compile(ctx, s, overlay, i, pkg); err != nil {
				return nil, fmt.Errorf("go test -c %s: %w\n%s", pkg, err, text)
			}
		}
		c.tests = append(c.tests, testProgram{pkg, c.program(i)})
	}
	return c, nil
}

func (c *schema) program(i int) string { return filepath.Join(c.dir, fmt.Sprintf("test%d", i)) }

func (c *schema) compile(ctx context.Context, s settings, overlay string, i int, pkg string) ([]byte, error) {
	return exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-gcflags=-e", "-tags", s.tags, "-overlay", overlay, "-o", c.program(i), pkg).CombinedOutput()
}

var compileError = regexp.MustCompile(`(?m)^(?:\S*/)?([^\s/:]+\.go):(\d+):(?:\d+:)? `)

// leaveOut drops the mutants of lines with compile errors; false: there are none.
func (c *schema) leaveOut(text []byte) bool {
	dropped := false
	for _, found := range compileError.FindAllSubmatch(text, -1) {
		line, _ := strconv.Atoi(string(found[2]))
		for i, m := range c.mutants {
			last := m.line + bytes.Count(m.original[m.start:m.end], []byte{'\n'})
			if filepath.Base(m.file) == string(found[1]) && m.line <= line && line <= last && !c.without[i] {
				c.without[i], dropped = true, true
			}
		}
	}
	return dropped
}

// write writes the changed sources, with the lines where they were, and returns the overlay.
func (c *schema) write(p *loadedPackage) (overlay string, err error) {
	replace := map[string]string{}
	add := func(name, text string) error {
		original, err := filepath.Abs(filepath.Join(p.dir, name))
		if err != nil {
			return err
		}
		changed := filepath.Join(c.dir, name)
		replace[original] = changed
		return os.WriteFile(changed, []byte(text), 0o600)
	}
	placed := map[int]bool{}
	for i, f := range p.files {
		e := &editor{source: p.sources[i], files: p.fileSet, info: p.info, numbers: map[place]int{}}
		for n, m := range c.mutants {
			if filepath.Base(m.file) == p.names[i] && !c.without[n] {
				what, _, _ := strings.Cut(m.what, ", place ")
				e.numbers[place{m.start, m.end, what}] = n
			}
		}
		e.collect(f)
		for _, x := range e.edits {
			for _, n := range x.mutants {
				placed[n] = true
			}
		}
		if err := add(p.names[i], e.render(0, len(e.source), 0)); err != nil {
			return "", err
		}
	}
	for n := range c.mutants {
		if !placed[n] {
			c.without[n] = true
		}
	}
	text := strings.NewReplacer("PACKAGE", p.files[0].Name.Name, "MUTANTS", strconv.Itoa(len(c.mutants)),
		"MUTANT_VARIABLE", mutantVariable, "RECORD_VARIABLE", recordVariable).Replace(support)
	if err := add("mutate_support.go", text); err != nil {
		return "", err
	}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(c.dir, "overlay.json")
	return overlay, os.WriteFile(overlay, encoded, 0o600)
}

// loadedPackage is a package's sources with types.
type loadedPackage struct {
	dir     string
	names   []string
	sources [][]byte
	files   []*ast.File
	fileSet *token.FileSet
	info    *types.Info
}

func loadPackage(ctx context.Context, s settings, dir string) (*loadedPackage, error) {
	p := &loadedPackage{dir: dir, fileSet: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	list := func(arguments ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, "go", slices.Concat([]string{"list", "-tags", s.tags}, arguments, []string{"./" + filepath.Clean(dir)})...)
		var errText bytes.Buffer
		command.Stderr = &errText
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("%s: %w\n%s", command, err, &errText)
		}
		return out, err
	}
	out, err := list("-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	if out, err = list("-f", "{{range .GoFiles}}{{.}} {{end}}"); err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(out)) {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.fileSet, filepath.Join(dir, name), source, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.names, p.sources, p.files = append(p.names, name), append(p.sources, source), append(p.files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(p.fileSet, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data of " + path)
		}
		return os.Open(exports[path])
	})}
	_, err = config.Check(dir, p.fileSet, p.files, p.info)
	return p, err
}
