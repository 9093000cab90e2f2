package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/trec"
)

// Config says what an Env works with.
type Config struct {
	// Data is the folder of the shared data: wiki/*.jsonl.zst and
	// queries/trec_tb0[56]_efficiency.tsv. Not used if Quick.
	Data string
	// Work is the folder in which collections are made and kept for the next
	// time. It may be removed at any time when no Env uses it.
	Work string
	// Index, if not empty, is an index to use in the place of the wiki passages.
	Index string
	Seed  uint64
	// Quick asks for the least collections that show that an experiment works.
	Quick bool
	// Device is the GPU that cells of a GPU are measured on: "gpu" for the first, or
	// its number; "" or "cpu" leaves those cells empty.
	Device string
	// Command is how all this was asked for, for the record.
	Command string
	// Progress, if not nil, is told how far a phase has come.
	Progress func(phase string, done, total int64)
}

// Env is what experiments work with.
type Env struct {
	// Quick asks for as little work as fills all cells.
	Quick bool
	// Seed is the seed of everything random.
	Seed uint64

	config   Config
	open     map[string]*Collection
	logs     map[string][]trec.Topic
	device   *Device
	onDevice bool // the experiment uses it
	watch    *stopwatch
	prepared time.Duration
	used     []string
	shared   map[string]any
}

// NewEnv returns an Env, to be closed.
func NewEnv(c Config) *Env {
	return &Env{Quick: c.Quick, Seed: c.Seed, config: c, open: map[string]*Collection{}, logs: map[string][]trec.Topic{}, shared: map[string]any{}}
}

// Close closes all collections, which stay in Config.Work, and the device.
func (env *Env) Close() {
	if env.device != nil {
		_ = env.device.close() // whatever failed on it failed in an experiment
		env.device = nil
	}
	for _, c := range env.open {
		c.close()
	}
	clear(env.open)
}

// Progress tells how far an experiment has come: done of total of something.
func (env *Env) Progress(phase string, done, total int) {
	if env.config.Progress != nil {
		env.config.Progress(phase, int64(done), int64(total))
	}
}

// Shared returns what measure returned when it was first called for the key: experiments
// that show the same measurements in several ways measure once. What an experiment opens
// it opens itself before, so that its record names it. An error is not kept.
func Shared[T any](env *Env, key string, measure func() (T, error)) (T, error) {
	if v, ok := env.shared[key].(T); ok {
		return v, nil
	}
	v, err := measure()
	if err == nil {
		env.shared[key] = v
	}
	return v, err
}

// Pick returns full, or quick if the experiment is to do as little as possible.
func Pick[T any](env *Env, full, quick T) T {
	if env.Quick {
		return quick
	}
	return full
}

// Query logs.
const (
	TB05 = "tb05" // TREC 2005 Terabyte efficiency queries: 50,000, 2.8 terms
	TB06 = "tb06" // TREC 2006: 100,000, 4.1 terms; griffin18 and ao11 use it
)

// Log returns a query log: TB05 or TB06. It must not be changed.
func (env *Env) Log(name string) ([]trec.Topic, error) {
	if topics, ok := env.logs[name]; ok {
		return topics, nil
	}
	var topics []trec.Topic
	var err error
	if env.Quick {
		topics = toyLog(name, env.Seed)
	} else {
		topics, err = readLog(filepath.Join(env.config.Data, "queries", "trec_"+name+"_efficiency.tsv"))
	}
	if err != nil {
		return nil, err
	}
	env.logs[name] = topics
	return topics, nil
}

func readLog(path string) ([]trec.Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("query log (name the folder of the shared data with --data): %w", err)
	}
	defer f.Close()
	topics, err := trec.ReadTopics(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return topics, nil
}

// opened returns the collection of a name, and makes it if that is needed; build
// makes the index in the folder dir.
func (env *Env) opened(ctx context.Context, name string, build func(ctx context.Context, dir string) error) (*Collection, error) {
	c, ok := env.open[name]
	if !ok {
		dir := filepath.Join(env.config.Work, name)
		err := env.prepare(func() error {
			if err := os.MkdirAll(env.config.Work, 0o755); err != nil {
				return err
			}
			var err error
			if c, err = openCollection(name, dir); err == nil || !errors.Is(err, base.ErrNotIndex) {
				return err
			}
			if err := build(ctx, dir); err != nil {
				return fmt.Errorf("make collection %s: %w", name, err)
			}
			c, err = openCollection(name, dir)
			return err
		})
		if err != nil {
			return nil, err
		}
		env.open[name] = c
	}
	env.use(c)
	return c, nil
}

// use notes that the experiment opened c.
func (env *Env) use(c *Collection) {
	if !slices.Contains(env.used, c.Describe()) {
		env.used = append(env.used, c.Describe())
	}
}
