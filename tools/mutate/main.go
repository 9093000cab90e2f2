// Mutate measures how well tests find faults: it changes one operator, condition or
// statement of a package at a time and reports which changes no test notices.
//
//	mutate [flags] PACKAGE...
//
// A PACKAGE is a folder of the module, such as ./internal/traverse, optionally followed by
// the packages whose tests may also find its faults: ./internal/traverse=./internal/plan,.
// The tests must pass without a mutation.
// The changes are a random sample; the seed is printed and can be given with -seed. A
// mutant is compiled from an overlay, so no file of the tree changes. With -whole, all mutants
// of a package are compiled into one program, and each is tested by the tests that reach it.
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
	whole      bool
	run        string
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
	flag.StringVar(&s.run, "run", "", "run only tests that match this expression, to check that a test kills a mutant")
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
	if s.whole && s.run != "" {
		return errors.New("-whole and -run cannot be given together: -whole chooses the tests of each mutant")
	}
	if len(targets) == 0 {
		return errors.New("no package given (-h lists the flags)")
	}
	known, err := readEquivalents(s.equivalent)
	if err != nil {
		return err
	}
	fmt.Printf("seed %d\n", s.seed)
	var total tally
	for _, target := range targets {
		dir, dependents, _ := strings.Cut(target, "=")
		tests := []string{dir}
		if dependents != "" {
			tests = append(tests, strings.Split(dependents, ",")...)
		}
		all, err := findMutants(filepath.Clean(dir), s.tags)
		if err != nil {
			return err
		}
		all = matching(all, s.only)
		rng := rand.New(rand.NewPCG(s.seed, 0))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		limited := s
		if !s.list {
			if limited.limit, err = timeLimit(ctx, s, tests); err != nil {
				return err
			}
		}
		test := testMutants
		if s.whole && !s.list {
			test = testWhole
		}
		t, err := test(ctx, limited, all, tests, known)
		fmt.Printf("%s: %s of %d possible\n", dir, t, len(all))
		if err != nil {
			return err
		}
		total.add(t)
	}
	if s.list {
		return nil
	}
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
