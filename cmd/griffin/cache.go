package main

import (
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/derived"
)

// cacheFlag bounds what traversals keep in memory, for commands that answer many
// queries.
type cacheFlag struct{ limit sizeFlag }

func (c *cacheFlag) register(f *pflag.FlagSet) {
	c.limit = derived.DefaultLimit
	f.Var(&c.limit, "cache", "memory for what traversals compute from posting lists and keep")
}

// option returns the option that the flag stands for.
func (c *cacheFlag) option() griffin.Option { return griffin.WithCache(int64(c.limit)) }

// resultCacheFlag bounds the memory of answers that are kept; 0 keeps none.
type resultCacheFlag struct{ limit sizeFlag }

func (r *resultCacheFlag) register(f *pflag.FlagSet, limit int64) {
	r.limit = sizeFlag(limit)
	f.Var(r, "result-cache", "memory for answers, kept for when they are asked for again; 0: none")
}

// String implements pflag.Value.
func (r *resultCacheFlag) String() string { return r.limit.String() }

// Type implements pflag.Value.
func (r *resultCacheFlag) Type() string { return r.limit.Type() }

// Set implements pflag.Value.
func (r *resultCacheFlag) Set(text string) error {
	if text == "0" {
		r.limit = 0
		return nil
	}
	return r.limit.Set(text)
}

// option returns the option that the flag stands for.
func (r *resultCacheFlag) option() griffin.Option { return griffin.WithResultCache(int64(r.limit)) }
