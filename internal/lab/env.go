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

// Config configures an Env.
type Config struct {
	// Folder of the shared data: wiki/*.jsonl.zst and
	// queries/trec_tb0[56]_efficiency.tsv. Unused if Quick.
	Data string
	// Folder for generated collections, kept for later runs. It may be removed
	// when no Env uses it.
	Work string
	// Index, if not empty, is an index that replaces the wiki passages.
	Index string
	Seed  uint64
	// Quick requests the smallest collections with which an experiment works.
	Quick bool
	// GPU for GPU cells: "gpu" for the first, or a number; "" or "cpu" leaves
	// those cells empty.
	Device string
	// The command line, for the record.
	Command  string
	Progress func(phase string, done, total int64)
}

// Env is the environment of experiments.
type Env struct {
	// Quick requests the least work that fills all cells.
	Quick bool
	// Seed of all random numbers.
	Seed uint64

	config   Config
	open     map[string]*Collection
	logs     map[string][]trec.Topic
	device   *Device
	onDevice bool // used by the experiment
	watch    *stopwatch
	prepared time.Duration
	used     []string
	shared   map[string]any
}

// NewEnv returns an Env, which the caller closes.
func NewEnv(c Config) *Env {
	return &Env{Quick: c.Quick, Seed: c.Seed, config: c, open: map[string]*Collection{}, logs: map[string][]trec.Topic{}, shared: map[string]any{}}
}

// Close closes the device and all collections, which stay in Config.Work.
func (env *Env) Close() {
	if env.device != nil {
		_ = env.device.close() // an error would already have failed an experiment
		env.device = nil
	}
	for _, c := range env.open {
		c.close()
	}
	clear(env.open)
}

// Progress reports the progress of an experiment.
func (env *Env) Progress(phase string, done, total int) {
	if env.config.Progress != nil {
		env.config.Progress(phase, int64(done), int64(total))
	}
}

// Shared returns the result of the first call of measure for the key, so that
// experiments that show the same measurements measure once. An experiment opens
// its collections before, so that its record lists them. Errors are not cached.
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

// Pick returns quick if Quick is set, otherwise full.
func Pick[T any](env *Env, full, quick T) T {
	if env.Quick {
		return quick
	}
	return full
}

// Query logs.
const (
	TB05 = "tb05" // TREC 2005 Terabyte efficiency queries: 50,000, 2.8 terms
	TB06 = "tb06" // TREC 2006: 100,000, 4.1 terms; used by griffin18 and ao11
)

// Log returns a query log, TB05 or TB06, read-only.
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

// opened builds the collection in dir if necessary.
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

func (env *Env) use(c *Collection) {
	if !slices.Contains(env.used, c.Describe()) {
		env.used = append(env.used, c.Describe())
	}
}
