package griffin18

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/card"
)

func init() {
	engine.Register(engine.Info{
		Name:    name,
		Paper:   "Liu, Wang, Swanson. Griffin: uniting CPU and GPU in information retrieval systems for intra-query parallelism. PPoPP 2018",
		Summary: "conjunctions that begin on the GPU and move to the CPU where the lengths of the lists differ",
		Algorithms: []string{
			"pairwise intersection, the shortest lists first (SvS, §2.1.2)",
			"CPU: PForDelta lists in blocks of 128; merging, or binary search over skip pointers (§2.2)",
			"GPU: Elias-Fano lists in blocks of 128, copied for each query, decoded by Para-EF (§3.1.1, Algorithm 1)",
			"GPU: MergePath, or parallel binary search over skip pointers that copies and decodes only the needed blocks (§3.1.2)",
			"BM25 for the documents of the intersection; partial sort on the CPU, bucketSelect or radixSort on the GPU (§3.1.3)",
			"the intermediate result moves from the GPU to the CPU by the ratio of lengths (§3.2)",
		},
		Modes: []string{"and"},
		Options: []engine.Option{
			{Name: "on", Default: "both", Values: "both, cpu or gpu", Help: "Griffin, or one of the systems that it is compared with: CPU only, Griffin-GPU (§4.4)"},
			{Name: "ratio", Default: "128", Values: "a number, at least 1", Help: "ratio of the next list's length to the intermediate result's from which on=both continues on the CPU (§3.2)"},
			{Name: "crossing", Default: "128", Values: "a number, at least 1", Help: "ratio of lengths from which the GPU searches instead of merging (§3.1.2)"},
			{Name: "cpu-crossing", Default: "128", Values: "a number, at least 1", Help: "ratio of lengths from which the CPU searches instead of merging (§2.2 gives no number)"},
			{Name: "ranking", Default: "cpu", Values: "cpu, bucket or radix", Help: "partial sort on the CPU, or bucketSelect or radixSort where a query ends on the GPU (§3.1.3)"},
		},
		Open: open,
	})
}

// What runs queries.
const (
	onBoth = iota
	onCPU
	onGPU
)

// How the best k are selected.
const (
	rankCPU = iota
	rankBucket
	rankRadix
)

type options struct {
	on                           int
	ratio, crossing, cpuCrossing int
	ranking                      int
}

// maxRatio is above every ratio of lengths.
const maxRatio = 1 << 31

func parse(o *engine.Options) (options, error) {
	parsed := options{
		on:          o.Choice("on", "both", "cpu", "gpu"),
		ratio:       o.Int("ratio", 1, maxRatio),
		crossing:    o.Int("crossing", 1, maxRatio),
		cpuCrossing: o.Int("cpu-crossing", 1, maxRatio),
		ranking:     o.Choice("ranking", "cpu", "bucket", "radix"),
	}
	if o.Err() == nil && parsed.on == onCPU {
		o.Ignore("on=cpu", "ratio", "crossing", "ranking")
	}
	if o.Err() == nil && parsed.on == onGPU {
		o.Ignore("on=gpu", "ratio") // a query that fails on the GPU needs cpu-crossing
	}
	return parsed, o.Err()
}

func open(o engine.Options, r engine.Resources) (engine.Engine, error) {
	parsed, err := parse(&o)
	if err != nil {
		return nil, err
	}
	if parsed.on == onCPU {
		if err := r.RefuseGPU("on=cpu"); err != nil {
			return nil, err
		}
		return newEngine(parsed, nil)
	}
	d, err := card.Open(r.Device)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fmt.Errorf("on=%s needs a GPU (--device gpu), or on=cpu: %w", o.Text("on"), base.ErrBadInput)
	}
	e, err := newEngine(parsed, d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	e.release = d.Close
	return e, nil
}

// newEngine returns an engine on a device, nil with on=cpu, which the caller closes after it.
func newEngine(o options, d *cuda.Device) (*Engine, error) {
	e := &Engine{options: o, pool: pool{maxBytes: maxBytesOnCPU}}
	if d == nil {
		return e, nil
	}
	e.pool.maxBytes = int64(d.Info().TotalBytes / 2)
	var err error
	if e.device, err = newDevice(d, o.crossing); err != nil {
		return nil, err
	}
	return e, nil
}
