package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// tested is a test with the mutants that it reaches.
type tested struct {
	program testProgram
	name    string
	took    time.Duration
	reaches []byte // 1 at the mutant's number
}

// testWhole judges all mutants of packages. Mutants that the schema
// cannot hold are compiled one by one; with -load they get no verdict.
func testWhole(ctx context.Context, s settings, targets []string, known map[string]bool) (total tally, err error) {
	folder := s.save
	if folder == "" {
		if folder, err = os.MkdirTemp("", "mutate"); err != nil {
			return tally{}, err
		}
		defer os.RemoveAll(folder)
	}
	var suites []*suite
	apart := map[*suite][]mutant{}
	for _, target := range targets {
		mutants, tests, err := s.mutantsOf(target)
		if err != nil {
			return tally{}, err
		}
		dir := filepath.Join(folder, folderName(tests[0]))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return tally{}, err
		}
		c, err := newSchema(ctx, s, dir, mutants, tests)
		if err != nil {
			return tally{}, err
		}
		made := c.suite(tests[0])
		suites = append(suites, made)
		for _, n := range made.Without {
			apart[made] = append(apart[made], mutants[n])
		}
		if s.save != "" {
			fmt.Printf("%s: %d mutants in one program, %d apart\n", made.Dir, len(mutants)-len(made.Without), len(made.Without))
			if err := made.save(dir); err != nil {
				return tally{}, err
			}
		}
	}
	if s.save != "" {
		return tally{}, nil
	}
	if s.load != "" {
		if suites, err = loadSuites(s.load); err != nil {
			return tally{}, err
		}
	}
	earlier, err := openResults(s.results)
	if err != nil {
		return tally{}, err
	}
	tallies, err := judgeSuites(ctx, s, suites, known, earlier)
	if err = errors.Join(err, earlier.close()); err != nil {
		for i, c := range suites {
			fmt.Printf("%s: %s of %d possible, not all tested\n", c.Dir, tallies[i], len(c.Mutants))
		}
		return tally{}, err
	}
	for i, c := range suites {
		left := len(c.Without)
		if len(apart[c]) > 0 {
			one := s
			one.mutants = len(apart[c])
			tests := []string{c.Dir}
			for _, p := range c.Tests[1:] {
				tests = append(tests, p.Pkg)
			}
			if one.limit, err = timeLimit(ctx, s, tests); err != nil {
				return total, err
			}
			rest, err := testMutants(ctx, one, apart[c], tests, known)
			if err != nil {
				return total, err
			}
			tallies[i].add(rest)
			left = 0
		}
		fmt.Printf("%s: %s of %d possible, %d not tested\n", c.Dir, tallies[i], len(c.Mutants), left)
		total.add(tallies[i])
	}
	return total, nil
}

// work is one mutant to judge.
type work struct {
	suite, number int
	slow          time.Duration // of the slow tests that reach it
}

// judgeSuites returns a tally for each suite, without the mutants that are not compiled in.
func judgeSuites(ctx context.Context, s settings, suites []*suite, known map[string]bool, earlier *results) ([]tally, error) {
	tallies := make([]tally, len(suites))
	tests := make([][]tested, len(suites))
	var queue []work
	for i, c := range suites {
		var err error
		if tests[i], err = c.record(ctx, s); err != nil {
			return tallies, err
		}
		fmt.Printf("%s: %d mutants in one program, %d apart, %d tests\n", c.Dir, len(c.Mutants)-len(c.Without), len(c.Without), len(tests[i]))
		for n, m := range c.Mutants {
			if slices.Contains(c.Without, n) {
				continue
			}
			w := work{suite: i, number: n}
			for _, t := range tests[i] {
				if t.reaches[n] != 0 && t.took >= fast {
					w.slow += t.took
				}
			}
			v, judged := earlier.verdicts[m.Key]
			switch {
			case known[m.Key]:
				tallies[i].count(m, equivalent, "")
			case judged && v == survived:
				tallies[i].survived++
			case judged && v != equivalent:
				tallies[i].killed++
			default:
				queue = append(queue, w)
			}
		}
	}
	var mu sync.Mutex
	var failure error
	settle := func(w work, v verdict, by string) error {
		m := suites[w.suite].Mutants[w.number]
		tallies[w.suite].count(m, v, by)
		return earlier.add(m.Key, v, by)
	}
	// Fast tests kill most mutants, so all of them run before the first slow test.
	for _, slow := range []bool{false, true} {
		var left []work
		err := inParallel(ctx, s.jobs, len(queue), func(i int) {
			w := queue[i]
			v, by, err := suites[w.suite].judge(ctx, s, w.number, tests[w.suite], slow)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
			case v == survived && !slow && w.slow > 0:
				left = append(left, w)
			default:
				err = settle(w, v, by)
			}
			failure = errors.Join(failure, err)
		})
		if err := errors.Join(err, failure); err != nil {
			return tallies, err
		}
		slices.SortStableFunc(left, func(a, b work) int { return cmp.Compare(a.slow, b.slow) })
		queue = left
	}
	return tallies, nil
}

// inParallel calls do for 0 to n-1 on jobs goroutines until ctx ends.
func inParallel(ctx context.Context, jobs, n int, do func(i int)) error {
	var wg sync.WaitGroup
	next := make(chan int)
	for range max(jobs, 1) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	return ctx.Err()
}

// record runs each test once, without a mutant. A test that fails twice is left out, with a
// message.
func (c *suite) record(ctx context.Context, s settings) ([]tested, error) {
	var all []tested
	chosen, err := regexp.Compile(s.run)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Tests {
		list := exec.CommandContext(ctx, p.Path, "-test.list", ".")
		list.Dir = p.Pkg
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the tests of %s: %w", p.Pkg, err)
		}
		for _, name := range strings.Fields(string(out)) {
			if !strings.HasPrefix(name, "Benchmark") && chosen.MatchString(name) {
				all = append(all, tested{program: p, name: name})
			}
		}
	}
	failures := make([]error, len(all))
	err = inParallel(ctx, s.jobs, len(all), func(i int) {
		if failures[i] = c.recordTest(ctx, s, &all[i], i); failures[i] != nil {
			failures[i] = c.recordTest(ctx, s, &all[i], i)
		}
	})
	var passed []tested
	for i, t := range all {
		if failures[i] == nil {
			passed = append(passed, t)
		} else if err == nil {
			fmt.Printf("left out: %v\n", failures[i])
		}
	}
	return passed, err
}

func (c *suite) recordTest(ctx context.Context, s settings, t *tested, number int) error {
	path := filepath.Join(filepath.Dir(t.program.Path), fmt.Sprintf("reached%d", number))
	defer os.Remove(path)
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	began := time.Now()
	out, err := t.program.run(limited, s, recordVariable+"="+path, t.name)
	if err != nil {
		return fmt.Errorf("%s of %s fails without a mutation: %w\n%s", t.name, t.program.Pkg, err, out)
	}
	t.took = time.Since(began)
	t.reaches = make([]byte, len(c.Mutants)+1)
	reached, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // skipped or without the package
	}
	copy(t.reaches, reached)
	return err
}

func (p *testProgram) run(ctx context.Context, s settings, variable string, names ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, p.Path, fmt.Sprintf("-test.short=%t", s.short), "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	command.Dir, command.WaitDelay = p.Pkg, time.Second
	command.Env = append(os.Environ(), variable)
	return command.CombinedOutput()
}

// fast tests of a package run together, before the others.
const fast = 150 * time.Millisecond

var failedTest = regexp.MustCompile(`--- FAIL: (\S+)`)

// judge runs the fast or the slow tests that reach mutant n. by names the test that killed it.
func (c *suite) judge(ctx context.Context, s settings, n int, all []tested, slow bool) (v verdict, by string, err error) {
	for _, p := range c.Tests {
		var names []string
		limit := 5 * time.Second
		for i := range all {
			t := &all[i]
			if t.program == p && t.reaches[n] != 0 && (t.took >= fast) == slow {
				names = append(names, t.name)
				limit += 5 * t.took
			}
		}
		if len(names) == 0 {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		out, err := p.run(limited, s, fmt.Sprintf("%s=%d", mutantVariable, n), names...)
		expired := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return survived, "", ctx.Err()
		case err != nil && expired:
			return late, p.Pkg, nil
		case err != nil:
			by := p.Pkg
			if found := failedTest.FindSubmatch(bytes.TrimSpace(out)); found != nil {
				by = string(found[1])
			}
			return killed, by, nil
		}
	}
	return survived, "", nil
}
