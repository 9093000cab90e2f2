// Mutate measures how well tests find faults: it changes one operator, condition or
// statement of a package at a time and reports which changes no test notices.
//
//	mutate [flags] PACKAGE...
//
// A PACKAGE is a folder of the module, such as ./internal/traverse, optionally followed by
// the packages whose tests may also find its faults: ./internal/traverse=./internal/plan,.
// The tests must pass without a mutation.
// The changes are a random sample; the seed is printed and can be given with -seed. A
// mutant is compiled from an overlay, so no file of the tree changes; but a mutant that writes to
// a wrong path may leave a file in the folder of its package.
//
// With -whole, all mutants of a package are compiled into one program, and each is tested by
// the tests that reach it. -save and -load divide this: one machine compiles, another, which
// needs a checkout but no compiler, tests. -results keeps the verdicts in a file, so that a
// run can be continued, or repeated for survivors alone after their lines are removed.
//
// A mutant is killed if a test fails, does not end in time, or panics. If the tests do not
// end, their time without a mutation is measured again, since the machine may have become
// slower. A mutant that does not compile is replaced by another. Mutants that no test can
// notice are listed, with the reason, in equivalent.txt beside this file. Mutate exits with
// 1 if the killed share of the other mutants is below -want. It also prints the share that
// the sample proves: the lower limit at a confidence of 95 % (Clopper and Pearson, "The use
// of confidence or fiducial limits illustrated in the case of the binomial", 1934).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

type settings struct {
	mutants    int
	seed       uint64
	want       float64
	tags       string
	jobs       int
	equivalent string
	timeout    time.Duration // the highest limit
	limit      time.Duration // of the time of the tests of a mutant
	list       bool
	only       string
	keys       string // file
	whole      bool
	run        string
	short      bool
	save       string // folder of suites to write
	load       string // folder of suites to test
	results    string
}

func main() {
	var s settings
	flag.IntVar(&s.mutants, "n", 20, "mutants of each package")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().Unix()), "seed of the sample")
	flag.Float64Var(&s.want, "want", 95, "lowest percentage of killed mutants")
	flag.StringVar(&s.tags, "tags", "invariants", "build tags")
	flag.IntVar(&s.jobs, "j", max(runtime.NumCPU()/2, 1), "mutants tested at the same time")
	flag.StringVar(&s.equivalent, "equivalent", "tools/mutate/equivalent.txt", "list of mutants that no test can notice")
	flag.DurationVar(&s.timeout, "timeout", 5*time.Minute, "limit of the time of one run of the tests; it is lower if the tests are fast without a mutation")
	flag.BoolVar(&s.list, "list", false, "print the sampled mutants and test none")
	flag.BoolVar(&s.whole, "whole", false, "test all mutants, compiled into one program, each with the tests that reach it")
	flag.StringVar(&s.only, "only", "", "sample only places that contain this text, such as cache.go:450")
	flag.StringVar(&s.keys, "keys", "", "sample only mutants whose keys, as printed for survivors, are lines of this file")
	flag.StringVar(&s.run, "run", "", "run only tests that match this expression, to check that a test kills a mutant")
	flag.BoolVar(&s.short, "short", true, "run the short tests; -short=false runs all")
	flag.StringVar(&s.save, "save", "", "with -whole: write the programs to this folder, and test nothing")
	flag.StringVar(&s.load, "load", "", "test the programs in this folder, which -save wrote")
	flag.StringVar(&s.results, "results", "", "with -whole or -load: append verdicts to this file, and keep those that it has")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutate [flags] PACKAGE[=PACKAGE,...]...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, targets []string) error {
	if err := s.validate(len(targets)); err != nil {
		return err
	}
	known, err := readKeys(s.equivalent)
	if err != nil {
		return err
	}
	var total tally
	if s.whole && !s.list || s.load != "" {
		if total, err = testWhole(ctx, s, targets, known); err != nil || s.save != "" {
			return err
		}
		return s.judgeShare(total)
	}
	fmt.Printf("seed %d\n", s.seed)
	for _, target := range targets {
		all, tests, err := s.mutantsOf(target)
		if err != nil {
			return err
		}
		limited := s
		if !s.list {
			if limited.limit, err = timeLimit(ctx, s, tests); err != nil {
				return err
			}
		}
		t, err := testMutants(ctx, limited, all, tests, known)
		fmt.Printf("%s: %s of %d possible\n", tests[0], t, len(all))
		if err != nil {
			return err
		}
		total.add(t)
	}
	if s.list {
		return nil
	}
	return s.judgeShare(total)
}

func (s *settings) validate(targets int) error {
	switch {
	case s.load != "" && (targets > 0 || s.save != "" || s.list):
		return errors.New("-load tests what its folder has: give no package, -save or -list with it")
	case s.load == "" && targets == 0:
		return errors.New("no package given (-h lists the flags)")
	case s.save != "" && !s.whole:
		return errors.New("-save needs -whole")
	case s.results != "" && !s.whole && s.load == "":
		return errors.New("-results needs -whole or -load")
	}
	return nil
}

// mutantsOf returns the mutants of PACKAGE[=PACKAGE,...] in the order that the seed decides,
// and the packages that test them.
func (s *settings) mutantsOf(target string) (all []mutant, tests []string, err error) {
	dir, dependents, _ := strings.Cut(target, "=")
	tests = []string{dir}
	if dependents != "" {
		tests = append(tests, strings.Split(dependents, ",")...)
	}
	if all, err = findMutants(filepath.Clean(dir), s.tags); err != nil {
		return nil, nil, err
	}
	all = matching(all, s.only)
	if s.keys != "" {
		wanted, err := readKeys(s.keys)
		if err != nil {
			return nil, nil, err
		}
		all = slices.DeleteFunc(all, func(m mutant) bool { return !wanted[m.key()] })
	}
	rng := rand.New(rand.NewPCG(s.seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, tests, nil
}

func (s *settings) judgeShare(total tally) error {
	fmt.Printf("all: %s\n", total)
	if share := total.share(); share < s.want {
		return fmt.Errorf("%.1f %% killed, wanted %.1f %%", share, s.want)
	}
	return nil
}

func matching(all []mutant, place string) []mutant {
	if place == "" {
		return all
	}
	var kept []mutant
	for _, m := range all {
		if strings.Contains(m.place(), place) {
			kept = append(kept, m)
		}
	}
	return kept
}
