package main

import (
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin/internal/derived"
)

// cacheFlag bounds the memory for data that traversals derive from posting lists.
type cacheFlag struct{ limit sizeFlag }

func (c *cacheFlag) register(f *pflag.FlagSet) {
	c.limit = derived.DefaultLimit
	f.Var(&c.limit, "cache", "memory for data that traversals derive from posting lists")
}

func (c *cacheFlag) bytes() int64 {
	if c.limit == 0 {
		return -1
	}
	return int64(c.limit)
}

// resultCacheFlag has no cache with 0.
type resultCacheFlag struct{ limit sizeFlag }

func (r *resultCacheFlag) register(f *pflag.FlagSet, limit int64) {
	r.limit = sizeFlag(limit)
	f.Var(r, "result-cache", "memory for answers to repeated queries; 0: none")
}

func (r *resultCacheFlag) String() string { return r.limit.String() }

func (r *resultCacheFlag) Type() string { return r.limit.Type() }

func (r *resultCacheFlag) Set(text string) error {
	if text == "0" {
		r.limit = 0
		return nil
	}
	return r.limit.Set(text)
}
