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
