package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Sample is a reading during a soak, with the current counts.
type Sample struct {
	At time.Duration `json:"at_ns"` // from the start of the measured part
	Reading
	Answered int64 `json:"answered"`
	Shed     int64 `json:"shed"`
	Faulty   int64 `json:"faulty"`
}

// Growth is the change of one quantity: between the medians of the first and
// the last quarter of the samples, because a single reading depends on the
// garbage collector.
type Growth struct {
	Name    string `json:"name"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"`
	Allowed int64  `json:"allowed"` // maximum of Last - First
	PerHour int64  `json:"per_hour"`
	Grew    bool   `json:"grew"`
}

// Verdict is the result of a soak.
type Verdict struct {
	Passed  bool     `json:"passed"`
	Reasons []string `json:"reasons,omitempty"` // why it failed
	Growth  []Growth `json:"growth"`
}

// MinSamples is the minimum number of samples for a verdict.
const MinSamples = 8

// quantities may grow by noise: a share of the first median, and at least an
// absolute amount.
var quantities = []struct {
	name  string
	of    func(*Reading) int64
	share float64
	least int64
}{
	{"host memory", func(r *Reading) int64 { return r.HostBytes }, 0.05, 32 << 20},
	{"heap", func(r *Reading) int64 { return r.HeapBytes }, 0.10, 32 << 20},
	{"page-locked memory", func(r *Reading) int64 { return r.PinnedBytes }, 0.01, 16 << 20},
	{"device memory", func(r *Reading) int64 { return r.DeviceBytes }, 0.01, 16 << 20},
	{"goroutines", func(r *Reading) int64 { return r.Goroutines }, 0.25, 32},
}

// Share of queries that a service may reject below its capacity, because
// arrivals form bursts.
const maxSoakShed = 0.001

// Soak sends load to target, and calls read for the state of the process at the
// start and at each o.Every. A reading that fails, or takes longer than
// o.Timeout, fails the verdict. Caches must be full when the warm-up ends:
// later allocations count as growth. Errors counted by the process include the
// warm-up. If ctx ends, it returns the results until then, and ctx's error.
func Soak(ctx context.Context, target Target, o Options, read func(context.Context) (Reading, error), each func(Sample)) (Point, []Sample, Verdict, error) {
	if err := o.check(); err != nil {
		return Point{}, nil, Verdict{}, err
	}
	var mu sync.Mutex // readings may exceed their interval, but watch calls one at a time
	var samples []Sample
	readInTime := func() (Reading, error) {
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		return read(ctx)
	}
	before, first := readInTime()
	if first != nil {
		first = fmt.Errorf("the state before it could not be read: %w", first)
	}
	o.Watch = func(p Point) {
		if p.Took <= 0 {
			return
		}
		r, err := readInTime()
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if first == nil && ctx.Err() == nil {
				first = fmt.Errorf("the state at %v could not be read: %w", p.Took, err)
			}
			return
		}
		s := Sample{At: p.Took, Reading: r, Answered: p.Answered, Shed: p.Shed(), Faulty: p.Faulty()}
		samples = append(samples, s)
		if each != nil {
			each(s)
		}
	}
	p, err := Run(ctx, target, o)
	mu.Lock()
	defer mu.Unlock()
	v := judge(&p, before, samples)
	if first != nil {
		v.fail("%v", first)
	}
	return p, samples, v, err
}

// before is the state before the warm-up.
func judge(p *Point, before Reading, samples []Sample) Verdict {
	v := Verdict{Passed: true}
	if n := p.Faulty(); n > 0 {
		v.fail("%d queries failed", n)
	}
	if n := p.Shed(); float64(n) > maxSoakShed*float64(p.Sent) {
		v.fail("%d of %d queries were rejected", n, p.Sent)
	}
	if p.Answered == 0 {
		v.fail("no query was answered")
	}
	if len(samples) < MinSamples {
		v.fail("%d samples are too few to detect growth: %d are needed", len(samples), MinSamples)
		return v
	}
	if n := samples[len(samples)-1].Errors - before.Errors; n > 0 {
		v.fail("the process counts %d errors", n)
	}
	quarter := len(samples) / 4
	began, ended := samples[:quarter], samples[len(samples)-quarter:]
	hours := (ended[0].At - began[0].At).Hours()
	for _, q := range quantities {
		g := Growth{Name: q.name, First: median(began, q.of), Last: median(ended, q.of)}
		g.Allowed = max(q.least, int64(q.share*float64(g.First)))
		g.Grew = g.Last-g.First > g.Allowed
		if hours > 0 {
			g.PerHour = int64(float64(g.Last-g.First) / hours)
		}
		if g.Grew {
			v.fail("%s grew from %d to %d", g.Name, g.First, g.Last)
		}
		v.Growth = append(v.Growth, g)
	}
	return v
}

func (v *Verdict) fail(format string, args ...any) {
	v.Passed = false
	v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
}

// median returns the upper of two.
func median(samples []Sample, of func(*Reading) int64) int64 {
	values := make([]int64, len(samples))
	for i := range samples {
		values[i] = of(&samples[i].Reading)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
