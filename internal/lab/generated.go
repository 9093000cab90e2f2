package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Spec specifies a generated collection.
type Spec struct {
	Like    string // a preset of package collection
	Order   collection.Order
	Log     string // TB05 or TB06
	Docs    int    // 0: the published number
	Queries int    // drawn from the log; 0: the published number
	Codec   string // of the posting lists; "": the default
}

// content is a Spec without the codec.
type content struct {
	Like    string
	Order   collection.Order
	Log     string
	Docs    int
	Queries int
}

// Sizes at Quick.
const (
	quickDocs    = 12_000
	quickQueries = 60
)

// Generated returns a collection generated from Wiki and a log, once, and its
// queries, except those with a term that no document contains.
func (env *Env) Generated(ctx context.Context, s Spec) (*Collection, []Query, error) {
	like, err := collection.Lookup(s.Like)
	if err != nil {
		return nil, nil, err
	}
	if env.Quick {
		s.Docs, s.Queries = quickDocs, quickQueries
	}
	if s.Docs == 0 {
		s.Docs = like.NumDocs
	}
	source, err := env.Wiki(ctx)
	if err != nil {
		return nil, nil, err
	}
	same := content{s.Like, s.Order, s.Log, s.Docs, s.Queries}
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%+v %+v %d %s %d", like, same, env.Seed, source.Name, source.Snapshot.Fields[0].NumPostings))
	name := fmt.Sprintf("%s-%s-%d-%08x", s.Like, s.Order, s.Docs, sum)
	if s.Codec != "" {
		name += "-" + s.Codec
	}
	queriesPath := filepath.Join(env.config.Work, name+".queries.tsv")
	if _, err := os.Stat(queriesPath); errors.Is(err, fs.ErrNotExist) {
		// The queries are written last.
		if err := os.RemoveAll(filepath.Join(env.config.Work, name)); err != nil {
			return nil, nil, err
		}
	}
	c, err := env.opened(ctx, name, func(ctx context.Context, dir string) error {
		log, err := env.Log(s.Log)
		if err != nil {
			return err
		}
		report, err := collection.Generate(ctx, vfs.OS, dir, source.Snapshot, log, collection.Options{
			Like: like, Order: s.Order, Seed: env.Seed, NumDocs: s.Docs, NumQueries: s.Queries, Codec: s.Codec,
			Progress: func(phase string, done, total int64) {
				if env.config.Progress != nil {
					env.config.Progress(name+": "+phase, done, total)
				}
			},
		})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := report.WriteQueries(&b); err != nil {
			return err
		}
		return replaceFile(queriesPath, b.Bytes())
	})
	if err != nil {
		return nil, nil, err
	}
	if c.drawn == nil {
		log, err := readLog(queriesPath)
		if err != nil {
			return nil, nil, err
		}
		if c.drawn, err = c.Queries(log, 0); err != nil {
			return nil, nil, err
		}
	}
	return c, c.drawn, nil
}

// Impacts returns the impact-ordered lists of a collection from Generated, by
// default created with the given codec, without bitmaps: 8-bit impacts by BM25.
func (env *Env) Impacts(ctx context.Context, c *Collection, codec string) (*impact.Index, error) {
	lists, err := c.Snapshot.Impacts()
	if !errors.Is(err, index.ErrNoImpacts) {
		return lists, err
	}
	err = env.prepare(func() (err error) {
		ix, err := index.Open(vfs.OS, c.dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ix.Close()) }()
		_, err = ix.BuildImpacts(ctx, index.ImpactOptions{Codec: codec, BitmapBits: -1, Progress: func(done, total int64) {
			if env.config.Progress != nil {
				env.config.Progress(c.Name+": impacts", done, total)
			}
		}})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("impact-ordered lists of %s: %w", c.Name, err)
	}
	again, err := openCollection(c.Name, c.dir)
	if err != nil {
		return nil, err
	}
	c.close()
	c.Snapshot, c.Searcher = again.Snapshot, again.Searcher
	return c.Snapshot.Impacts()
}
