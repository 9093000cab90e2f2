package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/codec"
)

const blockLen = codec.BlockLen

// Wiki returns the Wikipedia passages of the shared data, or the index of
// Config.Index; with Quick, a small artificial collection.
func (env *Env) Wiki(ctx context.Context) (*Collection, error) {
	if env.Quick {
		return env.opened(ctx, fmt.Sprintf("toy-%d", env.Seed), env.makeToy)
	}
	if env.config.Index == "" {
		return env.opened(ctx, "wiki", env.indexWiki)
	}
	name := filepath.Base(env.config.Index)
	c, ok := env.open[name]
	if !ok {
		var err error
		if c, err = openCollection(name, env.config.Index); err != nil {
			return nil, err
		}
		env.open[name] = c
	}
	env.use(c)
	return c, nil
}

func (env *Env) indexWiki(ctx context.Context, dir string) (err error) {
	paths, err := filepath.Glob(filepath.Join(env.config.Data, "wiki", "*.jsonl.zst"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no wiki/*.jsonl.zst in %q: name the folder of the shared data with --data", env.config.Data)
	}
	ix, err := griffin.Create(dir, griffin.Settings{Analyzer: "simple", Fields: []string{}, NoStored: true, NoPositions: true}, griffin.Options{IndexMemory: 2 << 30})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	_, err = ix.IndexFiles(ctx, paths, griffin.FilesOptions{Format: "jsonl", Progress: func(p griffin.Progress) {
		if env.config.Progress != nil {
			env.config.Progress("index the wiki passages: "+p.Phase, p.Done, p.Total)
		}
	}})
	return err
}
