package simulation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sched"
)

// Compares every start with Kiefer and Wolfowitz's recursion: with c servers a
// job begins when it has arrived and the first server is free.
func TestFirstComeFirstServed(t *testing.T) {
	for _, servers := range []int{1, 3, 16} {
		queries := mixed(300, uint64(servers))
		arrivals := Poisson(1100*float64(servers), 5000, len(queries), 2)
		free := make([]time.Duration, servers)
		want := make([]time.Duration, len(arrivals))
		for i, a := range arrivals {
			slices.Sort(free)
			want[i] = max(a.At, free[0])
			free[0] = want[i] + queries[a.Query].CPU
		}
		o := Options{Queries: queries, Sched: sched.Options{Policy: sched.PolicyCPU, CPUs: servers, MaxQueue: -1, Stretch: -1}}
		o.Each = func(out *Outcome) {
			if out.Shed != nil || out.Arrived != arrivals[out.Arrival].At || out.Began != want[out.Arrival] || out.Ended != out.Began+queries[out.Query].CPU {
				t.Fatalf("%d servers: %+v, want to begin at %v", servers, *out, want[out.Arrival])
			}
		}
		if _, err := Run(t.Context(), o, arrivals); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEachEndsOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, policy := range sched.Policies() {
		for range 20 {
			queries := mixed(100, random.Uint64())
			queries[0].CPU, queries[1].GPU = sched.Never, sched.Never
			o := Options{
				Queries: queries, Error: random.Float64(), Seed: random.Uint64(), Warmup: random.IntN(100), OneAtATime: random.IntN(5) == 0,
				Sched: sched.Options{
					Policy: policy, CPUs: 1 + random.IntN(3), Lanes: 1 + random.IntN(2), MaxQueue: random.IntN(50) - 1,
					Deadline: time.Duration(random.IntN(30)) * time.Millisecond, RunLate: random.IntN(2) == 0,
					Window: time.Duration(random.IntN(2)) * time.Millisecond, MaxBatch: random.IntN(5), Work: 20_000,
				},
			}
			arrivals := Poisson(500+4000*random.Float64(), 2000, len(queries), random.Uint64())
			ended := make([]int, len(arrivals))
			last := time.Duration(0)
			o.Each = func(out *Outcome) {
				ended[out.Arrival]++
				if out.Ended < last || out.Arrived != arrivals[out.Arrival].At {
					t.Fatalf("%+v after %v", *out, last)
				}
				last = out.Ended
			}
			r, err := Run(t.Context(), o, arrivals)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range ended {
				if n != 1 {
					t.Fatalf("arrival %d ended %d times with %+v", i, n, o.Sched)
				}
			}
			if n := len(arrivals) - o.Warmup; r.Arrivals != n || r.Latency.Count+r.Shed != n || r.Missed > r.Latency.Count {
				t.Errorf("%d counted of %d: %+v", r.Arrivals, n, r)
			}
			for p, busy := range r.Busy {
				if busy < 0 || busy > 1.1 { // a run of the warm-up does not count; a run at the end counts entirely
					t.Errorf("place %d is busy for %v of the time", p, busy)
				}
			}
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	queries := mixed(200, 1)
	o := Options{Queries: queries, Error: 0.3, Seed: 4, Sched: sched.Options{Policy: sched.PolicyCost, CPUs: 2, Lanes: 1, Deadline: 10 * time.Millisecond}}
	l := Load{Arrivals: 5000, Seed: 6}
	var results []*Result
	for _, rate := range []float64{3000, 3000, 4000} {
		r, err := At(t.Context(), o, l, rate)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if !reflect.DeepEqual(results[0], results[1]) || reflect.DeepEqual(results[0], results[2]) {
		t.Error("the same options gave other results, or another rate the same")
	}
	l.Seed++
	if other, err := At(t.Context(), o, l, 3000); err != nil || reflect.DeepEqual(results[0], other) {
		t.Errorf("another seed gave the same result, or %v", err)
	}
}

func TestPoisson(t *testing.T) {
	const n, rate = 200_000, 250.0
	arrivals := Poisson(rate, n, 10, 1)
	if got := Rate(arrivals); math.Abs(got/rate-1) > 0.01 {
		t.Errorf("rate %v, want %v", got, rate)
	}
	var sum, squares float64
	counts := make([]int, 10)
	for i := 1; i < n; i++ {
		gap := (arrivals[i].At - arrivals[i-1].At).Seconds()
		sum += gap
		squares += gap * gap
		counts[arrivals[i].Query]++
	}
	mean := sum / (n - 1)
	// The standard deviation of exponential intervals equals their mean.
	if deviation := math.Sqrt(squares/(n-1) - mean*mean); math.Abs(deviation/mean-1) > 0.01 {
		t.Errorf("intervals of %v s deviate by %v s", mean, deviation)
	}
	if slices.Min(counts) < n/10*9/10 {
		t.Errorf("queries are drawn %v times", counts)
	}
	if got := Rate(Scale(arrivals, 1000)); math.Abs(got-1000) > 0.01 {
		t.Errorf("scaled to 1000: %v", got)
	}
}

// Reading, scaling and results use the same definition of rate.
func TestRateOfReplay(t *testing.T) {
	log := []Arrival{{At: 0}, {At: 250 * time.Millisecond}, {At: time.Second}}
	if got := Rate(log); got != 2 {
		t.Errorf("rate %v", got)
	}
	o := Options{Sched: sched.Options{Policy: sched.PolicyCPU, CPUs: 1}, Queries: []Query{{CPU: time.Microsecond, GPU: sched.Never}}}
	for _, rate := range []float64{2, 100} {
		r, err := At(t.Context(), o, Load{Replay: log}, rate)
		if err != nil || math.Abs(r.Rate-rate) > 1e-6*rate {
			t.Errorf("at %v: %+v, %v", rate, r, err)
		}
	}
	for _, l := range []Load{{Replay: log[:1]}, {Replay: []Arrival{{}, {}, {}}}} {
		if r, err := At(t.Context(), o, l, 100); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("arrivals of one moment: %+v, %v", r, err)
		}
	}
	for _, rate := range []float64{HighestRate * 1.01, 1e300, math.Inf(1)} {
		if r, err := At(t.Context(), o, Load{Arrivals: 10}, rate); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("a rate of %v: %+v, %v", rate, r, err)
		}
	}
}

func TestReadArrivals(t *testing.T) {
	queries := []Query{{ID: "a"}, {ID: "b"}}
	got, err := ReadArrivals(strings.NewReader("# log\n100\tb\n100.25\n\n101\ta\n"), queries)
	want := []Arrival{{0, 1}, {250 * time.Millisecond, 1}, {time.Second, 0}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"", "soon", "1\tc", "2\n1", "NaN", "1\n1e300"} {
		if _, err := ReadArrivals(strings.NewReader(text), queries); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// In M/D/1 the mean wait equals the time of a job at a load of 2/3.
func TestSustainedRate(t *testing.T) {
	o := Options{Queries: []Query{{CPU: service, GPU: sched.Never}}, Sched: sched.Options{Policy: sched.PolicyCPU, CPUs: 1, MaxQueue: -1}}
	l := Load{Arrivals: 100_000, Seed: 3}
	got, err := SustainedRate(t.Context(), o, l, func(r *Result) bool { return r.MeanWait <= service })
	if want := 2.0 / 3 / service.Seconds(); err != nil || math.Abs(got/want-1) > 0.03 {
		t.Errorf("sustained %v, %v; want %v", got, err, want)
	}
	if got, err := SustainedRate(t.Context(), o, l, func(*Result) bool { return false }); err != nil || got != 0 {
		t.Errorf("if no result is accepted: %v, %v", got, err)
	}
	short := Load{Arrivals: 10, Seed: 3}
	if got, err := SustainedRate(t.Context(), o, short, func(*Result) bool { return true }); err != nil || got != HighestRate {
		t.Errorf("if all results are accepted: %v, %v", got, err)
	}
}

// diverging returns queries, some much faster on one processor and some on the
// other, like ding09's AND queries (§9): 8 ms on average on each.
func diverging(n int, seed uint64) []Query {
	random := rand.New(rand.NewPCG(seed, 7))
	queries := make([]Query, n)
	for i := range queries {
		size, skew := math.Exp(0.7*random.NormFloat64()), math.Exp(0.9*random.NormFloat64())
		queries[i] = Query{CPU: time.Duration(4.2e6 * size * skew), GPU: time.Duration(4.2e6 * size / skew)}
	}
	return queries
}

// The result of Fig. 7: both in parallel sustain more than the better of both
// one at a time, and that more than either alone; also with the paper's
// prediction errors.
func TestDing09(t *testing.T) {
	queries := diverging(1000, 1)
	for _, relative := range []float64{0, 0.22} {
		rates := map[string]float64{}
		for _, c := range Ding09(queries, 0, relative, 1) {
			rate, err := SustainedRate(t.Context(), c.Options, Load{Arrivals: 4000, Seed: 1}, func(r *Result) bool { return !r.Failed() })
			if err != nil {
				t.Fatal(err)
			}
			rates[c.Name] = rate
		}
		t.Logf("error %v: %v", relative, rates)
		either := max(rates["GPU only"], rates["CPU only"])
		if both, better := rates["both in parallel"], rates["better of both"]; either == 0 || better < 1.2*either || both < 1.5*better {
			t.Errorf("error %v: sustained %v", relative, rates)
		}
	}
}

func TestPoliciesUnderLoad(t *testing.T) {
	queries := mixed(1000, 2)
	p99 := map[sched.Policy]time.Duration{}
	batch := map[sched.Policy]float64{}
	for _, policy := range sched.Policies() {
		o := Options{Queries: queries, Error: 0.2, Sched: sched.Options{Policy: policy, CPUs: 4, Lanes: 1, MaxQueue: -1, Work: 200_000}}
		r, err := At(t.Context(), o, Load{Arrivals: 20_000, Seed: 1}, 6000)
		if err != nil {
			t.Fatal(err)
		}
		p99[policy], batch[policy] = r.Latency.P99, r.Batch
	}
	t.Log(p99, batch)
	for _, policy := range []sched.Policy{sched.PolicyCPU, sched.PolicyGPU, sched.PolicyBatch} {
		for _, mixing := range []sched.Policy{sched.PolicyQuery, sched.PolicyCost} {
			if p99[mixing] > p99[policy] {
				t.Errorf("p99 of %s is %v, of %s %v", mixing, p99[mixing], policy, p99[policy])
			}
		}
	}
	if batch[sched.PolicyBatch] <= batch[sched.PolicyGPU] {
		t.Errorf("batches of %v by threshold, of %v without", batch[sched.PolicyBatch], batch[sched.PolicyGPU])
	}
}

// An example: a batch takes the sum of its queries' additions, plus the maximum
// of their remaining times.
func TestBatchTime(t *testing.T) {
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	o := Options{
		Queries: []Query{{GPU: us(100), Batched: us(90), CPU: sched.Never}, {GPU: us(30), Batched: us(5), CPU: sched.Never}, {GPU: us(20), CPU: sched.Never}},
		Sched:   sched.Options{Policy: sched.PolicyGPU, CPUs: -1, Lanes: 1},
	}
	var ends []time.Duration
	o.Each = func(out *Outcome) { ends = append(ends, out.Ended) }
	if _, err := Run(t.Context(), o, []Arrival{{0, 2}, {1, 0}, {2, 1}, {3, 2}}); err != nil {
		t.Fatal(err)
	}
	// One alone; then 90 + 5 + 20, plus 25.
	if want := []time.Duration{us(20), us(160), us(160), us(160)}; !slices.Equal(ends, want) {
		t.Errorf("ended at %v, want %v", ends, want)
	}
}

func TestPredicted(t *testing.T) {
	o := Options{
		Queries:   []Query{{CPU: time.Millisecond, GPU: 3 * time.Millisecond}},
		Predicted: []Query{{CPU: 4 * time.Millisecond, GPU: 2 * time.Millisecond}},
		Sched:     sched.Options{CPUs: 1, Lanes: 1},
	}
	o.Each = func(out *Outcome) {
		if out.Place != sched.GPU || out.Ended != 3*time.Millisecond {
			t.Errorf("%+v", *out)
		}
	}
	if _, err := Run(t.Context(), o, []Arrival{{}}); err != nil {
		t.Fatal(err)
	}
}

// A window creates batches where the GPU would be idle, and causes no wait if
// nothing else arrives.
func TestWindow(t *testing.T) {
	queries := []Query{{CPU: sched.Never, GPU: 40 * time.Microsecond, Batched: 10 * time.Microsecond}}
	for _, c := range []struct {
		rate     float64
		low, top float64 // of the mean batch
		wait     time.Duration
	}{{20, 1, 1.01, 2 * time.Microsecond}, {5000, 3, 8, time.Millisecond}} {
		o := Options{Queries: queries, Sched: sched.Options{Policy: sched.PolicyGPU, CPUs: -1, Lanes: 1, Window: time.Millisecond}}
		r, err := At(t.Context(), o, Load{Arrivals: 10_000, Seed: 1}, c.rate)
		if err != nil {
			t.Fatal(err)
		}
		if r.Batch < c.low || r.Batch > c.top || r.MeanWait > c.wait {
			t.Errorf("rate %v: batches of %v, a mean wait of %v", c.rate, r.Batch, r.MeanWait)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	good := Options{Queries: []Query{{CPU: 1, GPU: 1}}, Sched: sched.Options{CPUs: 1}}
	one := []Arrival{{}}
	for name, change := range map[string]func(o *Options) []Arrival{
		"no queries":  func(o *Options) []Arrival { o.Queries = nil; return one },
		"no arrivals": func(*Options) []Arrival { return nil },
		"error":       func(o *Options) []Arrival { o.Error = 2; return one },
		"NaN":         func(o *Options) []Arrival { o.Error = math.NaN(); return one },
		"predicted":   func(o *Options) []Arrival { o.Predicted = make([]Query, 2); return one },
		"of others":   func(o *Options) []Arrival { o.Predicted = []Query{{ID: "other", CPU: 1, GPU: 1}}; return one },
		"not there": func(o *Options) []Arrival { // predicted where it was not measured
			o.Queries, o.Predicted = []Query{{CPU: 1, GPU: sched.Never}}, []Query{{CPU: 1, GPU: 1}}
			return one
		},
		"warm-up":    func(o *Options) []Arrival { o.Warmup = 1; return one },
		"policy":     func(o *Options) []Arrival { o.Sched.Policy = "best"; return one },
		"no servers": func(o *Options) []Arrival { o.Sched.CPUs = -1; return one },
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			arrivals := change(&o)
			if _, err := Run(t.Context(), o, arrivals); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	// The arrivals span more time than can be represented.
	if _, err := At(t.Context(), good, Load{Arrivals: 1000}, 1e-8); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("3000 years: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, good, one); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	queries := mixed(1000, 1)
	for _, policy := range sched.Policies() {
		b.Run("policy="+string(policy), func(b *testing.B) {
			o := Options{Queries: queries, Sched: sched.Options{Policy: policy, CPUs: 16, Lanes: 2}}
			arrivals := Poisson(10_000, 1_000_000, len(queries), 1)
			for b.Loop() {
				if _, err := Run(b.Context(), o, arrivals); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(arrivals)*b.N)/b.Elapsed().Seconds(), "arrivals/s")
		})
	}
}

// For a deadline of hundreds of query times, an unsustainable rate is detected
// if the span of arrivals is long relative to the deadline, and only then.
func TestSustainedRateOfLongDeadline(t *testing.T) {
	const quick, deadline = 100 * time.Microsecond, 50 * time.Millisecond
	o := Options{
		Queries: []Query{{CPU: quick, GPU: sched.Never}},
		Sched:   sched.Options{Policy: sched.PolicyCPU, CPUs: 1, MaxQueue: -1, Deadline: deadline, RunLate: true},
	}
	for _, c := range []struct {
		span        time.Duration
		least, most float64 // relative to the processor's capacity
	}{
		{0, 1.8, 2.2}, // 1,000 arrivals are 100 ms of work: the last is late if they arrive within 50 ms
		{SpanFor(deadline), 0.98, 1.006},
	} {
		rate, err := SustainedRate(t.Context(), o, Load{Arrivals: 1000, Seed: 1, Span: c.span}, func(r *Result) bool { return !r.Failed() })
		if part := rate * quick.Seconds(); err != nil || part < c.least || part > c.most {
			t.Errorf("arrivals over %v: sustained %.3f of what the processor can do, want %g to %g (%v)", c.span, part, c.least, c.most, err)
		}
	}
	long := Load{Span: time.Minute}
	if long.Cut(MaxArrivals/60) || !long.Cut(MaxArrivals/30) {
		t.Errorf("%d arrivals a minute are cut, or twice as many are not", MaxArrivals)
	}
}

// The mean batch size excludes the warm-up.
func TestBatchWithoutWarmup(t *testing.T) {
	o := Options{
		Queries: []Query{{GPU: time.Millisecond, Batched: time.Microsecond, CPU: sched.Never}},
		Sched:   sched.Options{Policy: sched.PolicyGPU, CPUs: -1, Lanes: 1},
		Warmup:  3,
	}
	// Three alone, then one, and behind it two together.
	arrivals := []Arrival{{At: 0}, {At: 10 * time.Millisecond}, {At: 20 * time.Millisecond}, {At: 30 * time.Millisecond}, {At: 30*time.Millisecond + 1}, {At: 30*time.Millisecond + 2}}
	r, err := Run(t.Context(), o, arrivals)
	if err != nil || r.Batch != 1.5 {
		t.Errorf("batches of %v, %v; want 1.5", r.Batch, err)
	}
}
