package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/sched"
)

// During three seconds at twice the sustained load, with prediction errors of
// 30 %, the excess is shed, and a second later latencies are as on a machine
// that was never overloaded.
func TestRecovers(t *testing.T) {
	const deadline = 20 * time.Millisecond
	queries := mixed(1000, 8)
	for _, policy := range []sched.Policy{sched.PolicyCPU, sched.PolicyQuery, sched.PolicyCost} {
		o := Options{
			Queries: queries, Error: 0.3, Seed: 2,
			Sched: sched.Options{Policy: policy, CPUs: 4, Lanes: 1, Deadline: deadline},
		}
		sustained, err := SustainedRate(t.Context(), o, Load{Arrivals: 20_000, Seed: 3}, func(r *Result) bool {
			return r.Missed+r.Shed <= r.Arrivals/50
		})
		if err != nil || sustained == 0 {
			t.Fatalf("%s sustains %v, %v", policy, sustained, err)
		}
		calm := observe(t, o, Poisson(0.7*sustained, int(3*sustained), len(queries), 5), 0)
		arrivals := Poisson(2*sustained, int(6*sustained), len(queries), 4) // three seconds
		end := arrivals[len(arrivals)-1].At
		for _, a := range Poisson(0.7*sustained, int(3*sustained), len(queries), 5) {
			a.At += end
			arrivals = append(arrivals, a)
		}
		storm := observe(t, o, arrivals[:int(6*sustained)], 0)
		after := observe(t, o, arrivals, end+time.Second)
		t.Logf("%s sustains %.0f/s; p99 calm %v, overloaded %v, after %v; shed %.1f %%, %.1f %%, %.1f %%; goodput overloaded %.0f/s",
			policy, sustained, calm.p99, storm.p99, after.p99, 100*calm.shed, 100*storm.shed, 100*after.shed, storm.goodput)
		if storm.goodput < 0.9*sustained {
			t.Errorf("%s: goodput falls from %v to %v a second", policy, sustained, storm.goodput)
		}
		if storm.p99 > deadline*5/4 || storm.shed < 0.05 {
			t.Errorf("%s: overloaded, p99 is %v and %.1f %% are shed", policy, storm.p99, 100*storm.shed)
		}
		if after.p99 > calm.p99*5/4 || after.shed > calm.shed+0.01 {
			t.Errorf("%s: a second later p99 is %v and %.1f %% are shed, want %v and %.1f %%", policy, after.p99, 100*after.shed, calm.p99, 100*calm.shed)
		}
	}
}

type observed struct {
	p99     time.Duration
	shed    float64 // share
	goodput float64 // in time, a second
}

func observe(t *testing.T, o Options, arrivals []Arrival, from time.Duration) observed {
	t.Helper()
	var latencies []time.Duration
	shed, inTime := 0, 0
	o.Each = func(out *Outcome) {
		switch {
		case out.Arrived < from:
		case out.Shed != nil:
			shed++
		default:
			latencies = append(latencies, out.Ended-out.Arrived)
			if !out.Missed {
				inTime++
			}
		}
	}
	if _, err := Run(t.Context(), o, arrivals); err != nil {
		t.Fatal(err)
	}
	span := (arrivals[len(arrivals)-1].At - from).Seconds()
	return observed{latency.Summarize(latencies).P99, float64(shed) / float64(shed+len(latencies)), float64(inTime) / span}
}

// Without a deadline, only the queue sheds jobs. They then do not wait longer
// than the default depth allows, on machines of all sizes and with jobs of all
// lengths, and throughput stays at capacity.
func TestOverloadByDefault(t *testing.T) {
	for _, cpus := range []int{1, 2, 16} {
		for _, takes := range []time.Duration{20 * time.Microsecond, time.Millisecond, 50 * time.Millisecond} {
			capacity := float64(cpus) / takes.Seconds()
			query := Query{CPU: takes, GPU: sched.Never}
			o := Options{Queries: []Query{query}, Sched: sched.Options{Policy: sched.PolicyCPU, CPUs: cpus}}
			arrivals := Poisson(2*capacity, 50_000, 1, 6)
			end := arrivals[len(arrivals)-1].At
			for _, a := range Poisson(0.7*capacity, 20_000, 1, 7) {
				a.At += end
				arrivals = append(arrivals, a)
			}
			storm := observe(t, o, arrivals[:50_000], 0)
			after := observe(t, o, arrivals, end+4*sched.DefaultDepth*takes) // the backlog is processed beside new arrivals at a load of 0.7
			if most := (sched.DefaultDepth + 2) * takes; storm.p99 > most || storm.p99 < most/2 {
				t.Errorf("%d CPUs, jobs of %v: at twice the capacity p99 is %v, want at most %v", cpus, takes, storm.p99, most)
			}
			if storm.goodput < 0.97*capacity || after.shed > 0 || after.p99 > 12*takes {
				t.Errorf("%d CPUs, jobs of %v: %.0f are done a second of %.0f; afterwards %.2f %% are shed, p99 is %v",
					cpus, takes, storm.goodput, capacity, 100*after.shed, after.p99)
			}
		}
	}
}

// A launch of many queries takes far less time for each. At twice the sustained load, launches stay large, although all
// waiting queries are near their deadlines.
func TestLaunchesStayLarge(t *testing.T) {
	const deadline = 80 * time.Millisecond
	var queries []Query
	for i := range 100 {
		fixed, adds := time.Duration(8+i%8)*time.Millisecond, time.Duration(20+i%60)*time.Microsecond
		queries = append(queries, Query{CPU: sched.Never, GPU: fixed + adds, Batched: adds})
	}
	o := Options{
		Queries: queries, Error: 0.3, Seed: 2,
		Sched: sched.Options{Policy: sched.PolicyCost, CPUs: -1, Lanes: 2, Deadline: deadline, MaxLaunch: 60 * time.Millisecond},
	}
	sustained, err := SustainedRate(t.Context(), o, Load{Arrivals: 40_000, Seed: 3}, func(r *Result) bool {
		return r.Missed+r.Shed <= r.Arrivals/50
	})
	if err != nil || sustained == 0 {
		t.Fatalf("sustains %v, %v", sustained, err)
	}
	for _, times := range []float64{1.5, 2, 4} {
		storm := observe(t, o, Poisson(times*sustained, int(2*times*sustained), len(queries), 4), time.Second)
		t.Logf("sustains %.0f/s; at %v times, p99 %v, shed %.1f %%, goodput %.0f/s", sustained, times, storm.p99, 100*storm.shed, storm.goodput)
		if storm.goodput < 0.9*sustained {
			t.Errorf("at %v times the rate, goodput falls from %v to %v a second", times, sustained, storm.goodput)
		}
	}
}

// Lanes share a GPU: each launch takes the time of all of them together, but predictions are for one alone. At twice the
// sustained load, the GPU still answers at nearly its full rate, in time.
func TestLanesShareTheGPU(t *testing.T) {
	const deadline = 8 * time.Millisecond
	var queries []Query
	for i := range 100 {
		fixed, adds := time.Duration(300+5*i)*time.Microsecond, time.Duration(1000+65*i)*time.Nanosecond
		queries = append(queries, Query{CPU: sched.Never, GPU: fixed + adds, Batched: adds})
	}
	for name, factor := range map[string]float64{"alone": 1, "too low": 0.2, "too high": 2} {
		predicted := slices.Clone(queries)
		for i := range predicted {
			q := &predicted[i]
			q.GPU, q.Batched = time.Duration(factor*float64(q.GPU)), time.Duration(factor*float64(q.Batched))
		}
		o := Options{
			Queries: queries, Predicted: predicted, Shared: true,
			Sched: sched.Options{
				Policy: sched.PolicyCost, CPUs: -1, Lanes: 8, Deadline: deadline, MaxQueue: 1024, MaxLaunch: 6 * time.Millisecond, Beside: 16,
			},
		}
		const capacity = 1e9 / (1000 + 65*99/2) // queries a second
		for _, times := range []float64{1, 2, 4} {
			storm := observe(t, o, Poisson(times*capacity, int(times*capacity/2), len(queries), 4), time.Second/4)
			t.Logf("predictions %s, at %v times %.0f/s: p99 %v, shed %.1f %%, goodput %.0f/s", name, times, capacity, storm.p99, 100*storm.shed, storm.goodput)
			share := 0.9
			if times > 2 {
				share = 0.85
			}
			if storm.goodput < share*capacity {
				t.Errorf("predictions %s, at %v times the capacity of %.0f/s, goodput is %.0f/s", name, times, capacity, storm.goodput)
			}
		}
	}
}
