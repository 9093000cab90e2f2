package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// tally counts verdicts.
type tally struct{ killed, survived, equivalent int }

func (t *tally) add(o tally) {
	t.killed += o.killed
	t.survived += o.survived
	t.equivalent += o.equivalent
}

// share is in per cent, without equivalent mutants.
func (t tally) share() float64 {
	if t.killed+t.survived == 0 {
		return 100
	}
	return 100 * float64(t.killed) / float64(t.killed+t.survived)
}

// proved is the lower limit, at a confidence of 95 %, of the percentage among all mutants.
func (t tally) proved() float64 {
	low, high := 0.0, 1.0
	for range 50 {
		p := (low + high) / 2
		if binomialTail(t.killed+t.survived, t.killed, p) < 0.05 {
			low = p
		} else {
			high = p
		}
	}
	return 100 * low
}

// binomialTail is the probability of at least k successes in n trials; p is in (0, 1).
func binomialTail(n, k int, p float64) float64 {
	sum, logChoose := 0.0, 0.0
	for i := n; i >= k; i-- {
		sum += math.Exp(logChoose + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		logChoose += math.Log(float64(i)) - math.Log(float64(n-i+1))
	}
	return sum
}

func (t tally) String() string {
	return fmt.Sprintf("%d killed, %d survived (%.1f %%, proved %.1f %%), %d equivalent",
		t.killed, t.survived, t.share(), t.proved(), t.equivalent)
}

// count adds and prints a verdict. by names the package or test that killed the mutant.
func (t *tally) count(m identity, v verdict, by string) {
	switch v {
	case invalid:
		return
	case killed, late:
		t.killed++
		if v == late {
			by += " does not end"
		}
		fmt.Printf("killed      %s: %s (%s)\n", m.Place, m.What, by)
	case equivalent:
		t.equivalent++
		fmt.Printf("equivalent  %s: %s\n", m.Place, m.What)
	case survived:
		t.survived++
		fmt.Printf("SURVIVED    %s: %s\n            %s\n", m.Place, m.What, m.Key)
	}
}

type verdict int

const (
	killed verdict = iota
	late           // killed: the tests did not end in time
	survived
	equivalent
	invalid // does not compile
)

// testMutants goes in order until settings.mutants have a verdict.
func testMutants(ctx context.Context, s settings, all []mutant, tests []string, known map[string]bool) (tally, error) {
	var (
		t       tally
		mu      sync.Mutex
		next    int
		pending int
		failure error
		wg      sync.WaitGroup
	)
	take := func() *mutant {
		mu.Lock()
		defer mu.Unlock()
		if failure != nil || next == len(all) || t.killed+t.survived+t.equivalent+pending >= s.mutants {
			return nil
		}
		next++
		pending++
		return &all[next-1]
	}
	worker := func() {
		for m := take(); m != nil; m = take() {
			v, by, err := judge(ctx, s, m, tests, known)
			mu.Lock()
			pending--
			failure = errors.Join(failure, err)
			if err == nil {
				t.count(m.identity(), v, by)
			}
			mu.Unlock()
		}
	}
	for range max(s.jobs, 1) {
		wg.Go(worker)
	}
	wg.Wait()
	return t, errors.Join(failure, ctx.Err())
}

// timeLimit returns the time after which a mutant counts as killed, at most settings.timeout,
// or an error if a test fails without a mutation.
func timeLimit(ctx context.Context, s settings, tests []string) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	s.limit = s.timeout
	longest := time.Duration(0)
	for i, pkg := range tests {
		began := time.Now()
		v, err := testPackage(ctx, s, "", pkg, filepath.Join(dir, "test"), i == 0)
		if err == nil && v != survived {
			err = fmt.Errorf("tests of %s fail without a mutation", pkg)
		}
		if err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(began))
	}
	return min(s.timeout, 10*time.Second+5*longest), nil
}

// judge begins with the mutant's own package. by names the package that killed it.
func judge(ctx context.Context, s settings, m *mutant, tests []string, known map[string]bool) (v verdict, by string, err error) {
	if known[m.key()] {
		return equivalent, "", nil
	}
	if s.list {
		return survived, "", nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		return 0, "", err
	}
	for i, pkg := range tests {
		v, err := testPackage(ctx, s, overlay, pkg, filepath.Join(dir, "test"), i == 0)
		for limited := s; v == late && err == nil; {
			var limit time.Duration
			if limit, err = timeLimit(ctx, s, []string{pkg}); err != nil || limit <= limited.limit {
				break
			}
			limited.limit = limit
			v, err = testPackage(ctx, limited, overlay, pkg, filepath.Join(dir, "test"), i == 0)
		}
		if err != nil || v != survived {
			return v, pkg, err
		}
	}
	return survived, "", nil
}

// The overlay puts the changed file in the place of the original.
func (m *mutant) overlay(dir string) (string, error) {
	changed := filepath.Join(dir, filepath.Base(m.file))
	out := string(m.original[:m.start]) + m.text + string(m.original[m.end:])
	if err := os.WriteFile(changed, []byte(out), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// testPackage runs the short tests. own: the package is the mutant's, where a failure to
// compile means that the mutant is invalid.
func testPackage(ctx context.Context, s settings, overlay, pkg, binary string, own bool) (verdict, error) {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", s.tags, "-overlay", overlay, "-o", binary, pkg)
	if out, err := build.CombinedOutput(); err != nil {
		if own && ctx.Err() == nil {
			return invalid, nil
		}
		return 0, fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	defer os.Remove(binary)
	limit, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	test := exec.CommandContext(limit, binary, fmt.Sprintf("-test.short=%t", s.short), "-test.failfast", "-test.run", s.run)
	test.Dir = pkg
	test.WaitDelay = time.Second
	out, err := test.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil && limit.Err() != nil:
		return late, nil
	case err != nil:
		return killed, nil
	case bytes.Contains(out, []byte("no tests to run")):
		return 0, fmt.Errorf("%s: no tests", pkg)
	}
	return survived, nil
}

// readKeys reads a key from each line, except empty ones and comments, which begin with #.
func readKeys(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			known[line] = true
		}
	}
	return known, nil
}
