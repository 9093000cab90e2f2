package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// suite is a package's mutants, compiled into the test programs of some packages. Another
// machine can test it without a compiler.
type suite struct {
	Dir     string     // of the package
	Mutants []identity // by number
	Without []int      // mutants that are not compiled in
	Tests   []testProgram
}

const suiteFile = "suite.json"

func (c *schema) suite(dir string) *suite {
	made := &suite{Dir: dir, Tests: c.tests}
	for n, m := range c.mutants {
		made.Mutants = append(made.Mutants, m.identity())
		if c.without[n] {
			made.Without = append(made.Without, n)
		}
	}
	return made
}

// folderName is the name of a package's folder among suites.
func folderName(dir string) string {
	return strings.ReplaceAll(filepath.ToSlash(filepath.Clean(dir)), "/", "_")
}

// save writes suite.json beside the programs, which it names relative to the folder.
func (c *suite) save(folder string) error {
	relative := *c
	relative.Tests = nil
	for _, p := range c.Tests {
		relative.Tests = append(relative.Tests, testProgram{p.Pkg, filepath.Base(p.Path)})
	}
	text, err := json.Marshal(relative)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, suiteFile), text, 0o600)
}

func loadSuites(folder string) ([]*suite, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", suiteFile))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no suites (mutate -whole -save writes them)", folder)
	}
	var all []*suite
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s := &suite{}
		if err := json.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		at, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		for i := range s.Tests {
			s.Tests[i].Path = filepath.Join(at, s.Tests[i].Path)
		}
		all = append(all, s)
	}
	return all, nil
}

// results are the verdicts of earlier runs, by key, and the file that gets further ones. The
// zero value has none and keeps none.
type results struct {
	verdicts map[string]verdict
	file     *os.File
}

var verdictNames = map[verdict]string{killed: "killed", late: "late", survived: "survived", equivalent: "equivalent"}

func openResults(path string) (*results, error) {
	r := &results{verdicts: map[string]verdict{}}
	if path == "" {
		return r, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	values := map[string]verdict{}
	for v, name := range verdictNames {
		values[name] = v
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		v, ok := values[fields[0]]
		if len(fields) != 3 || !ok {
			return nil, fmt.Errorf("%s: bad line %q: want a verdict, a mutant and a test, with tabs between", path, line)
		}
		r.verdicts[fields[1]] = v
	}
	r.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return r, err
}

func (r *results) add(key string, v verdict, by string) error {
	if r.file == nil {
		return nil
	}
	_, err := fmt.Fprintf(r.file, "%s\t%s\t%s\n", verdictNames[v], key, by)
	return err
}

func (r *results) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
