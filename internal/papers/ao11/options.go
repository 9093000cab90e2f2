package ao11

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/papers/card"
	"github.com/griffin-search/griffin/internal/papers/para"
)

func init() {
	engine.Register(engine.Info{
		Name: name,
		Paper: "Ao, Zhang, Wu, Stones, Wang, Liu et al. Efficient parallel lists intersection and index compression " +
			"algorithms using graphics processing units. PVLDB 4(8), 2011",
		Summary: "conjunctions of batches of queries on a GPU, whose memory holds the lists",
		Algorithms: []string{
			"PARA: batches up to a computational threshold; elements of the shortest lists are searched in the others (§4.1)",
			"searches: binary, interpolation, safe ranges around a regression line, hash segmentation (§4.2 to §4.4)",
			"ParaPFD and NewPFD: whole lists are decoded on the GPU before the search (§5.1, App. D)",
			"LRC, LRCSeg, SegLRC, HS.LRC: search without decoding, with the list H (§5.2, §5.3, Algorithm 1)",
			"on a CPU the same searches on one thread, and a skip list (§6.3)",
			"the CPU scores the matches, with frequencies read alone, and keeps the top k in a heap (not in the paper)",
		},
		Modes: []string{"and"},
		Options: []engine.Option{
			{Name: "on", Default: "gpu", Values: "gpu or cpu", Help: "processor of the intersections"},
			{Name: "threshold", Default: fmt.Sprint(para.DefaultThreshold), Values: "a number", Help: "computational threshold: elements of the shortest lists of a batch (§4.1, App. F.2); on=gpu only"},
			{Name: "codec", Default: "none", Values: "none, parapfd, newpfd, lrc, lrcseg, seglrc or hs-lrc", Help: "code of the lists (§5)"},
			{Name: "search", Default: "auto", Values: "auto, binary, interpolation, lr, hs16, hs32, hs64, hs128, hs256 or skip", Help: "search in a list (§4.2 to §4.4; skip on a CPU only); auto: the fastest in Table 3 for the codec"},
			{Name: "range", Default: "global", Values: "global or local", Help: "safe search ranges of search=lr (§4.3)"},
			{Name: "g", Default: fmt.Sprint(defaultParts), Values: "1 to 65536", Help: "parts of a list with range=local (§4.3)"},
			{Name: "h", Default: "on", Values: "on or off", Help: "list H of Algorithm 1, of lrc, lrcseg and seglrc (§5.3)"},
			{Name: "memory", Default: "auto", Values: "auto or a number of MiB", Help: "lists on the GPU (§2.1); auto: three quarters of its free memory; on=gpu only"},
			{Name: "exceptions", Default: "0", Values: fmt.Sprintf("0 to %g", codec.MaxExceptions), Help: "maximum share of exceptions in a segment (§6.2); not with codec=none"},
		},
		Open: open,
	})
}

// config are the options of an Engine.
type config struct {
	form      form
	onGPU     bool
	threshold int
	memory    int64 // bytes of lists on the device; 0: automatic
	cpus      int   // goroutines that score the matches of a batch
}

// readConfig reads the options. Options has its errors.
func readConfig(o *engine.Options) config {
	c := config{form: readForm(o), onGPU: o.Choice("on", "gpu", "cpu") == 0}
	c.threshold = o.Int("threshold", 1, para.MaxThreshold)
	if o.Text("memory") != "auto" {
		c.memory = int64(o.Int("memory", 1, 1<<24)) << 20
	}
	if c.onGPU {
		if c.form.search == skip {
			o.Fail("search", "another search with on=gpu: a skip list is for on=cpu (§6.3)")
		}
		return c
	}
	if o.Err() == nil {
		o.Ignore("on=cpu", "threshold", "memory") // one query after another, and no GPU memory
	}
	return c
}

func open(o engine.Options, r engine.Resources) (engine.Engine, error) {
	c := readConfig(&o)
	if c.cpus = r.CPUs; c.cpus == 0 {
		c.cpus = runtime.GOMAXPROCS(0)
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	if !c.onGPU {
		if err := r.RefuseGPU("on=cpu"); err != nil {
			return nil, err
		}
		return newEngine(c, nil)
	}
	d, err := card.Open(r.Device)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fmt.Errorf("on=gpu, but no GPU is used: select one, such as --device gpu, or on=cpu: %w", base.ErrBadInput)
	}
	e, err := newEngine(c, d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	e.closing = d.Close
	return e, nil
}
