package ding09

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/sched"
)

// processors are the choices of option on.
type processors uint8

const (
	onBoth processors = iota
	onGPU
	onCPU
)

// String returns the word of option on.
func (p processors) String() string { return [...]string{"both", "gpu", "cpu"}[p] }

// The paper's values.
const (
	defaultDepth    = "1"   // §6.3: "In the following, we always use a single level of recursion."
	defaultLevels   = "3"   // §7.3: "three levels of recursion appear to perform best"
	defaultCache    = "640" // MiB, the memory of the paper's GPU (§6.3)
	defaultGroup    = "0.2" // §9: "queries that are 20% faster on GPU than on CPU"
	defaultDeadline = "500" // ms (§9)
	defaultUrgent   = "0.5" // §9: "a substantial part of the total time to its deadline"
)

const noFile = "none"

// options are the options of an engine.
type options struct {
	on     processors
	rice   bool // lists of the GPU; otherwise recursive PForDelta
	depth  int  // recursions of PForDelta
	levels int  // of the parallel merge find
	whole  bool // an AND decodes whole lists, as the poster does
	// cacheBytes bounds the lists in GPU memory while no query uses them.
	cacheBytes int64
	global     string // file of global scores; "": none
	candidates int    // of the second phase; 0: there is none
	second     weights
	// For onBoth.
	cpus      int
	threshold float64
	deadline  time.Duration
	urgent    float64
}

func infoOptions() []engine.Option {
	return []engine.Option{
		{Name: "on", Default: "both", Values: "both, gpu or cpu", Help: "processors; both: by the scheduler (§9)"},
		{Name: "codec", Default: "pfordelta-rec", Values: "pfordelta-rec or rice", Help: "code of the lists in GPU memory (§6)"},
		{Name: "depth", Default: defaultDepth, Values: "0 to 4", Help: "recursive compression of the exceptions of pfordelta-rec (§6.2)"},
		{Name: "levels", Default: defaultLevels, Values: "0 to 4", Help: "levels of splitters of the parallel merge find (§7.2); 0: binary search"},
		{Name: "skip", Default: "yes", Values: "yes or no", Help: "an AND decodes only blocks that can match (§8.1); no: whole lists, as the poster"},
		{Name: "cache", Default: defaultCache, Values: "a number of MiB", Help: "GPU memory for lists, lengths and global scores of documents, and deletions (§5); 640: the paper's GPU"},
		{Name: "global", Default: noFile, Values: "none or a file", Help: "global scores of documents, added to BM25 (§8.4): lines of id, tab, and a number from 0 to 65535; 0 for other documents"},
		{Name: "candidates", Default: "0", Values: "0 to 2048", Help: "documents that the second phase scores (§4), at least the hits wanted; 0: one phase"},
		{Name: "second", Default: noFile, Values: "none, weights such as bm25:1+global:2, or a file", Help: "linear function of the second phase, of " + strings.Join(featureNames[:], ", ") + "; a file has lines of name, tab, and weight"},
		{Name: "threshold", Default: defaultGroup, Values: "a number from 0", Help: "how much faster a query must be on a processor to belong to its group (§9), adapted while running; 0.2: 20 % faster"},
		{Name: "deadline", Default: defaultDeadline, Values: "milliseconds", Help: "target time of a query (§9), not enforced; close to it, a query precedes others"},
		{Name: "urgent", Default: defaultUrgent, Values: "0 to 1", Help: "share of the time to the deadline after which a query precedes others (§9)"},
	}
}

func readOptions(o engine.Options, r engine.Resources) (options, error) {
	const mebibyte = 1 << 20
	opts := options{
		on: processors(max(o.Choice("on", "both", "gpu", "cpu"), 0)), rice: o.Choice("codec", "pfordelta-rec", "rice") == 1,
		depth: o.Int("depth", 0, 4), levels: o.Int("levels", 0, 4), whole: o.Choice("skip", "yes", "no") == 1,
		cacheBytes: int64(o.Int("cache", 0, 1<<24)) * mebibyte,
		cpus:       r.CPUs, threshold: o.Float("threshold", 0), urgent: o.Float("urgent", 0),
		deadline: time.Duration(o.Int("deadline", 1, 1<<30)) * time.Millisecond,
	}
	if opts.urgent > 1 {
		o.Fail("urgent", "a number from 0 to 1")
	}
	opts.candidates = o.Int("candidates", 0, selection.MaxK)
	if file := o.Text("global"); file != noFile {
		opts.global = file
	}
	err := o.Err()
	if text := o.Text("second"); err == nil && text != noFile {
		opts.second, err = readWeights(text)
	}
	if err != nil {
		return opts, err
	}
	opts.ignore(&o)
	if opts.on == onCPU {
		err = r.RefuseGPU("on=cpu")
	}
	return opts, errors.Join(opts.checkPhases(), o.Err(), err)
}

// checkPhases returns an error unless the options of the second phase fit together.
func (o *options) checkPhases() error {
	switch has := o.second != (weights{}); {
	case has && o.candidates == 0:
		return fmt.Errorf("second has no effect without candidates=N: %w", base.ErrBadInput)
	case !has && o.candidates > 0:
		return fmt.Errorf("candidates=%d needs second=WEIGHTS: %w", o.candidates, base.ErrBadInput)
	case o.second[globalFeature] != 0 && o.global == "":
		return fmt.Errorf("second has a weight of global scores, but global=none: %w", base.ErrBadInput)
	}
	return nil
}

// ignore refuses options that have no effect.
func (o *options) ignore(given *engine.Options) {
	switch {
	case o.on == onCPU:
		given.Ignore("on=cpu", "codec", "depth", "levels", "skip", "cache")
	case o.rice:
		given.Ignore("codec=rice", "depth")
	}
	if o.on != onBoth {
		given.Ignore("on="+o.on.String(), "threshold", "deadline", "urgent")
	}
}

// gpuCode is the code of the lists in GPU memory.
func (o *options) gpuCode() code {
	if o.rice {
		return code{codec.Rice{}, 1}
	}
	depth := o.depth
	if depth == 0 {
		depth = codec.NoRecursion
	}
	return code{codec.PForDeltaRec{Depth: depth}, uint64(2 + o.depth)}
}

// cpuCode is block-wise PForDelta (§8.4).
func cpuCode() code { return code{codec.PForDelta{}, 0} }

func (o *options) schedule() sched.Options {
	const least = 1e-9 // 0 would be the scheduler's default
	return sched.Options{
		Policy: sched.PolicyQuery, CPUs: o.cpus, Lanes: 1, MaxQueue: -1, MaxBatch: 1, RunLate: true,
		Threshold: cmp.Or(o.threshold, least), Deadline: o.deadline, Urgent: cmp.Or(o.urgent, least),
	}
}
