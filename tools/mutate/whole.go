package main

import (
	"bytes"
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

// testWhole judges all mutants of a package, in the order of their tests' time. Mutants that
// the schema cannot hold are compiled one by one.
func testWhole(ctx context.Context, s settings, mutants []mutant, tests []string, known map[string]bool) (tally, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return tally{}, err
	}
	defer os.RemoveAll(dir)
	c, err := newSchema(ctx, s, dir, mutants, tests)
	if err != nil {
		return tally{}, err
	}
	all, err := c.record(ctx, s)
	if err != nil {
		return tally{}, err
	}
	fmt.Printf("%d mutants in one program, %d apart, %d tests\n", len(mutants)-len(c.without), len(c.without), len(all))
	var apart []mutant
	order := make([]int, 0, len(mutants))
	times := make([]time.Duration, len(mutants))
	for n, m := range mutants {
		if c.without[n] {
			apart = append(apart, m)
			continue
		}
		for i := range all {
			if all[i].reaches[n] != 0 {
				times[n] += all[i].took
			}
		}
		order = append(order, n)
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(times[a] - times[b]) })
	var t tally
	var mu sync.Mutex
	var failure error
	err = inParallel(ctx, s.jobs, len(order), func(i int) {
		m := &mutants[order[i]]
		v, by := equivalent, ""
		var err error
		if !known[m.key()] {
			v, by, err = c.judge(ctx, order[i], all)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failure = errors.Join(failure, err)
			return
		}
		t.count(m, v, by)
	})
	if err := errors.Join(err, failure); err != nil {
		return t, err
	}
	one := s
	one.mutants = len(apart)
	rest, err := testMutants(ctx, one, apart, tests, known)
	t.add(rest)
	return t, err
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

// record runs each test once, without a mutant; each must pass.
func (c *schema) record(ctx context.Context, s settings) ([]tested, error) {
	var all []tested
	for _, p := range c.tests {
		list := exec.CommandContext(ctx, p.path, "-test.list", ".")
		list.Dir = p.pkg
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the tests of %s: %w", p.pkg, err)
		}
		for _, name := range strings.Fields(string(out)) {
			if !strings.HasPrefix(name, "Benchmark") {
				all = append(all, tested{program: p, name: name})
			}
		}
	}
	failures := make([]error, len(all))
	err := inParallel(ctx, s.jobs, len(all), func(i int) { failures[i] = c.recordTest(ctx, s, &all[i], i) })
	return all, errors.Join(err, errors.Join(failures...))
}

func (c *schema) recordTest(ctx context.Context, s settings, t *tested, number int) error {
	path := filepath.Join(c.dir, fmt.Sprintf("reached%d", number))
	defer os.Remove(path)
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	began := time.Now()
	out, err := t.program.run(limited, recordVariable+"="+path, t.name)
	if err != nil {
		return fmt.Errorf("%s of %s fails without a mutation: %w\n%s", t.name, t.program.pkg, err, out)
	}
	t.took = time.Since(began)
	t.reaches = make([]byte, len(c.mutants)+1)
	reached, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // skipped or without the package
	}
	copy(t.reaches, reached)
	return err
}

func (p *testProgram) run(ctx context.Context, variable string, names ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, p.path, "-test.short", "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	command.Dir, command.WaitDelay = p.pkg, time.Second
	command.Env = append(os.Environ(), variable)
	return command.CombinedOutput()
}

// fast tests of a package run together, before the others.
const fast = 150 * time.Millisecond

var failedTest = regexp.MustCompile(`--- FAIL: (\S+)`)

// judge runs the tests that reach mutant n. by names the test that killed it.
func (c *schema) judge(ctx context.Context, n int, all []tested) (v verdict, by string, err error) {
	for _, slow := range []bool{false, true} {
		for _, p := range c.tests {
			var names []string
			limit := 10 * time.Second
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
			out, err := p.run(limited, fmt.Sprintf("%s=%d", mutantVariable, n), names...)
			expired := limited.Err() != nil
			cancel()
			switch {
			case ctx.Err() != nil:
				return survived, "", ctx.Err()
			case err != nil && expired:
				return late, p.pkg, nil
			case err != nil:
				by := p.pkg
				if found := failedTest.FindSubmatch(bytes.TrimSpace(out)); found != nil {
					by = string(found[1])
				}
				return killed, by, nil
			}
		}
	}
	return survived, "", nil
}
