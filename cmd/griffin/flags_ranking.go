package main

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
)

type rankingFlags struct {
	modeName     string
	traversal    string
	k            int
	accumulators string
	rho          rhoFlag
}

func (r *rankingFlags) register(f *pflag.FlagSet, k int) {
	f.StringVar(&r.modeName, "mode", "or", "match any word (or), all words (and), all or else any (and+or), or any by impact-ordered lists (saat)")
	f.StringVar(&r.traversal, "traversal", "", "algorithm by name (default: chosen for each query; see griffin bench --help)")
	f.IntVarP(&r.k, "k", "k", k, "hits for each query")
	f.Var(&r.rho, "rho", "in mode saat, stop after this number of postings or this `TIME`, such as 2ms")
	f.StringVar(&r.accumulators, "accumulators", "", "in mode saat, `NAME` of the accumulators for scores (see griffin bench --help)")
}

// For plain words check accepts only the mode's traversals; a query with operators can use any.
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
		return usagef("--traversal does not apply to --mode saat, which has --accumulators")
	}
	if err := griffin.ParseAccumulators(r.accumulators); err != nil {
		return usagef("--%w", err)
	}
	return nil
}

func (r *rankingFlags) query(mode griffin.Mode) griffin.Query {
	return griffin.Query{
		K: r.k, Mode: mode, Traversal: r.traversal, Accumulators: r.accumulators,
		Budget: griffin.Budget{Postings: r.rho.postings, Time: r.rho.time},
	}
}

var errRho = errors.New("want a number of postings or a time such as 2ms, more than 0")

// rhoFlag is a budget in postings or time.
type rhoFlag struct {
	postings int64
	time     time.Duration
}

func (r *rhoFlag) String() string {
	switch {
	case r.time > 0:
		return r.time.String()
	case r.postings > 0:
		return strconv.FormatInt(r.postings, 10)
	}
	return ""
}

func (r *rhoFlag) Type() string { return "POSTINGS" }

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
