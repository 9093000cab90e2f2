package simulation

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/sched"
)

// erlangC returns the probability that an arrival waits in M/M/c with a load of
// a erlangs, c > a (Erlang, 1917).
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0 // a^k / k!
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

func TestErlangC(t *testing.T) {
	// c = 1: the load itself; c = 2, a = 1: 1/3.
	if got := erlangC(1, 0.7); math.Abs(got-0.7) > 1e-12 {
		t.Errorf("erlangC(1, 0.7) = %v", got)
	}
	if got := erlangC(2, 1); math.Abs(got-1.0/3) > 1e-12 {
		t.Errorf("erlangC(2, 1) = %v, want 1/3", got)
	}
}

// meanWait simulates first come, first served. It returns the mean wait in
// seconds and half the width of its 99.9 % confidence interval, from the means
// of 40 batches.
func meanWait(t *testing.T, o Options, arrivals []Arrival) (mean, half float64) {
	t.Helper()
	const batches, student = 40, 3.558 // t, 39 degrees of freedom, 0.9995
	var sums [batches]float64
	counted := len(arrivals) - o.Warmup
	size := counted / batches
	var counts [batches]int
	o.Each = func(out *Outcome) {
		if b := (out.Arrival - o.Warmup) / size; out.Arrival >= o.Warmup && b < batches {
			sums[b] += (out.Began - out.Arrived).Seconds()
			counts[b]++
		}
	}
	if _, err := Run(t.Context(), o, arrivals); err != nil {
		t.Fatal(err)
	}
	var total, squares float64
	for b := range sums {
		if counts[b] != size {
			t.Fatalf("batch %d has %d arrivals, want %d", b, counts[b], size)
		}
		m := sums[b] / float64(size)
		total += m
		squares += m * m
	}
	mean = total / batches
	return mean, student * math.Sqrt((squares/batches-mean*mean)/(batches-1))
}

func inOrder(rate float64, n int, seed uint64) []Arrival {
	arrivals := Poisson(rate, n, 1, seed)
	for i := range arrivals {
		arrivals[i].Query = i
	}
	return arrivals
}

const service = time.Millisecond

func TestWaitOfMMC(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		servers int
		load    float64 // per server
		place   sched.Place
	}{{1, 0.5, sched.CPU}, {1, 0.8, sched.GPU}, {2, 0.7, sched.CPU}, {4, 0.8, sched.GPU}, {16, 0.9, sched.CPU}} {
		random := rand.New(rand.NewPCG(7, uint64(c.servers)))
		queries := make([]Query, n)
		for i := range queries {
			d := max(time.Duration(random.ExpFloat64()*float64(service)), 1)
			queries[i] = Query{CPU: d, GPU: d}
		}
		o := Options{Queries: queries, Warmup: n / 10, Sched: sched.Options{
			Policy: sched.PolicyCPU, CPUs: c.servers, MaxQueue: -1, Stretch: -1, MaxBatch: 1,
		}}
		if c.place == sched.GPU {
			o.Sched.Policy, o.Sched.CPUs, o.Sched.Lanes = sched.PolicyGPU, -1, c.servers
		}
		rate := c.load * float64(c.servers) / service.Seconds()
		got, half := meanWait(t, o, inOrder(rate, n, 11))
		a := c.load * float64(c.servers)
		want := erlangC(c.servers, a) / (float64(c.servers)/service.Seconds() - rate)
		t.Logf("M/M/%d at %v: mean wait %.1f ± %.1f µs, formula %.1f µs", c.servers, c.load, 1e6*got, 1e6*half, 1e6*want)
		if math.Abs(got-want) > half || half > want/4 {
			t.Errorf("M/M/%d at %v: mean wait %v ± %v s, want %v", c.servers, c.load, got, half, want)
		}
	}
}

// TestWaitOfMD1 compares with the Pollaczek-Khinchine formula for constant
// times: rho / (2 (1 - rho)) of the time of a job.
func TestWaitOfMD1(t *testing.T) {
	const n = 200_000
	for _, load := range []float64{0.3, 0.6, 0.9} {
		o := Options{Queries: []Query{{CPU: service, GPU: sched.Never}}, Warmup: n / 10, Sched: sched.Options{
			Policy: sched.PolicyCPU, CPUs: 1, MaxQueue: -1,
		}}
		got, half := meanWait(t, o, Poisson(load/service.Seconds(), n, 1, 5))
		want := load / (2 * (1 - load)) * service.Seconds()
		t.Logf("M/D/1 at %v: mean wait %.1f ± %.1f µs, formula %.1f µs", load, 1e6*got, 1e6*half, 1e6*want)
		if math.Abs(got-want) > half || half > want/4 {
			t.Errorf("M/D/1 at %v: mean wait %v ± %v s, want %v", load, got, half, want)
		}
	}
}

// A conservation law: in any order, the servers of a place are busy for the
// same time and all jobs run.
func TestOrderKeepsMeanWork(t *testing.T) {
	const n = 20_000
	queries := mixed(500, 3)
	arrivals := Poisson(900, n, len(queries), 4)
	var first *Result
	for _, stretch := range []float64{-1, 0.5, 4, 100} {
		o := Options{Queries: queries, Sched: sched.Options{Policy: sched.PolicyCPU, CPUs: 2, MaxQueue: -1, Stretch: stretch}}
		r, err := Run(t.Context(), o, arrivals)
		if err != nil {
			t.Fatal(err)
		}
		if r.Latency.Count != n || r.Failed() {
			t.Fatalf("stretch %v: %d of %d ended", stretch, r.Latency.Count, n)
		}
		if first == nil {
			first = r
			continue
		}
		if busy, want := r.Busy[0]*float64(r.Last-arrivals[0].At), first.Busy[0]*float64(first.Last-arrivals[0].At); math.Abs(busy/want-1) > 1e-9 {
			t.Errorf("stretch %v: busy for %v, want %v", stretch, busy, want)
		}
		if r.Latency.Mean >= first.Latency.Mean {
			t.Errorf("stretch %v: mean latency %v, first come, first served %v", stretch, r.Latency.Mean, first.Latency.Mean)
		}
	}
}

// mixed returns many small queries, faster on the CPU, and few large ones, much
// faster on the GPU.
func mixed(n int, seed uint64) []Query {
	random := rand.New(rand.NewPCG(seed, 99))
	queries := make([]Query, n)
	for i := range queries {
		size := math.Exp(1.6 * random.NormFloat64()) // median 1
		cpu := 5 + 600*size
		gpu := 20 + 22*size
		batched := 2 + 18*size
		us := func(v float64) time.Duration { return time.Duration(v * 1000) }
		queries[i] = Query{CPU: us(cpu), GPU: us(gpu), Batched: us(batched), Work: int64(10_000 * size)}
	}
	return queries
}
