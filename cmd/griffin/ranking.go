package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
)

// rankingFlags are the flags of all commands that answer queries.
type rankingFlags struct {
	modeName  string
	traversal string
	k         int
}

func (r *rankingFlags) register(f *pflag.FlagSet, k int) {
	f.StringVar(&r.modeName, "mode", "or", "what plain words ask for: or, and, and+or")
	f.StringVar(&r.traversal, "traversal", "", "algorithm by name (default: the mode's; see griffin bench --help)")
	f.IntVarP(&r.k, "k", "k", k, "hits for each query")
}

// check returns the mode, or a usage error if a flag has no such value. With
// plain words only the mode's own traversals will do; with operators a query of
// any mode can become one of another.
func (r *rankingFlags) check(plain bool) (griffin.Mode, error) {
	if err := oneOf("--mode", r.modeName, "or", "and", "and+or"); err != nil {
		return 0, err
	}
	mode, err := griffin.ParseMode(r.modeName)
	if err != nil {
		return 0, err
	}
	if r.k < 1 || r.k > griffin.MaxK {
		return 0, usagef("--k %d: must be from 1 to %d", r.k, griffin.MaxK)
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
