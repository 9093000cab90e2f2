package main

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
)

// rankingFlags are the flags of all commands that answer queries.
type rankingFlags struct {
	modeName     string
	traversal    string
	k            int
	accumulators string
	rho          rhoFlag
}

func (r *rankingFlags) register(f *pflag.FlagSet, k int) {
	f.StringVar(&r.modeName, "mode", "or", "what plain words ask for: or, and, and+or; or saat: any, by impact-ordered lists")
	f.StringVar(&r.traversal, "traversal", "", "algorithm by name (default: chosen for each query; see griffin bench --help)")
	f.IntVarP(&r.k, "k", "k", k, "hits for each query")
	f.Var(&r.rho, "rho", "in mode saat, end after this many postings, or this `TIME` such as 2ms")
	f.StringVar(&r.accumulators, "accumulators", "", "in mode saat, how scores are added up (see griffin bench --help)")
}

// check returns the mode, or a usage error if a flag has no such value. With
// plain words only the mode's own traversals will do; with operators a query of
// any mode can become one of another.
func (r *rankingFlags) check(plain bool) (griffin.Mode, error) {
	if err := oneOf("--mode", r.modeName, "or", "and", "and+or", "saat"); err != nil {
		return 0, err
	}
	mode, err := griffin.ParseMode(r.modeName)
	if err != nil {
		return 0, err
	}
	if r.k < 1 || r.k > griffin.MaxK {
		return 0, usagef("--k %d: must be from 1 to %d", r.k, griffin.MaxK)
	}
	if mode == griffin.ModeSaat {
		return mode, r.checkSaat()
	}
	if r.accumulators != "" || r.rho != (rhoFlag{}) {
		return 0, usagef("--rho and --accumulators are for --mode saat")
	}
	if r.traversal == "" {
		return mode, nil
	}
	var names []string
	for _, m := range []griffin.Mode{griffin.ModeOr, griffin.ModeAnd} {
		if !plain || mode == m || mode == griffin.ModeAndOr {
			names = append(names, griffin.Traversals(m)...)
		}
	}
	slices.Sort(names)
	return mode, oneOf("--traversal", r.traversal, slices.Compact(names)...)
}

func (r *rankingFlags) checkSaat() error {
	if r.traversal != "" {
		return usagef("--traversal is for the other modes: mode saat has --accumulators")
	}
	if err := griffin.ParseAccumulators(r.accumulators); err != nil {
		return usagef("--%w", err)
	}
	return nil
}

// searchOptions returns the options that the flags stand for.
func (r *rankingFlags) searchOptions(mode griffin.Mode) []griffin.SearchOption {
	return []griffin.SearchOption{
		griffin.WithK(r.k), griffin.WithMode(mode), griffin.WithTraversal(r.traversal),
		griffin.WithAccumulators(r.accumulators), griffin.WithBudget(r.rho.postings, r.rho.time),
	}
}

var errRho = errors.New("want a number of postings or a time such as 2ms, more than 0")

// rhoFlag is a budget: a number of postings or a time.
type rhoFlag struct {
	postings int64
	time     time.Duration
}

// String implements pflag.Value.
func (r *rhoFlag) String() string {
	switch {
	case r.time > 0:
		return r.time.String()
	case r.postings > 0:
		return strconv.FormatInt(r.postings, 10)
	}
	return ""
}

// Type implements pflag.Value.
func (r *rhoFlag) Type() string { return "POSTINGS" }

// Set implements pflag.Value.
func (r *rhoFlag) Set(text string) error {
	*r = rhoFlag{}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		r.postings = n
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errRho
	}
	r.time = d
	return nil
}
