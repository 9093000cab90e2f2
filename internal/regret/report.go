package regret

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
)

// Report summarises a Measured, in microseconds.
type Report struct {
	Mode    plan.Mode `json:"mode"`
	K       int       `json:"k"`
	Queries int       `json:"queries"`
	Rounds  int       `json:"rounds"`
	// Variants are the policies, the others, and "oracle" if enabled.
	Variants []Figures `json:"variants"`
	Classes  []Class   `json:"classes"`
}

// Figures summarise a variant, from the queries' medians.
type Figures struct {
	Name    string      `json:"name"`
	Latency Percentiles `json:"latency_us"`
	// AllRuns summarises all measured times.
	AllRuns *latency.Summary `json:"all_runs_us,omitempty"`
	// OverCPU and OverGPU are speed-ups, for the mean and each percentile.
	OverCPU *Percentiles `json:"times_as_fast_as_cpu,omitempty"`
	OverGPU *Percentiles `json:"times_as_fast_as_gpu,omitempty"`
	// Regret is the mean excess over the oracle: 0.05 is 5 %.
	Regret *float64 `json:"regret,omitempty"`
	// RegretAtMost uses an oracle that is chosen and measured by the same rounds, and is thus
	// too fast. The difference from Regret is noise.
	RegretAtMost *float64 `json:"regret_at_most,omitempty"`
	// Excess compares the variant's minimum times with the better of cpu and gpu, in its
	// worst class of queries, Worst: 0.03 is 3 % slower; negative is faster.
	Excess *float64 `json:"excess,omitempty"`
	Worst  string   `json:"worst_class,omitempty"`
	// Shares of the runs on one processor and on both; Migrations per query.
	OnCPU      float64 `json:"on_cpu"`
	OnGPU      float64 `json:"on_gpu"`
	OnBoth     float64 `json:"on_both"`
	Migrations float64 `json:"migrations"`
}

// Percentiles are the percentiles of griffin18, Figure 15, and the mean.
type Percentiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P80  float64 `json:"p80"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Class is a class of queries with each variant's mean of the minimum times: classes are small,
// so medians would be sensitive to disturbances of a few microseconds.
type Class struct {
	By      string             `json:"by"` // "terms", "shortest list" or "ratio"
	Name    string             `json:"name"`
	Queries int                `json:"queries"`
	Mean    map[string]float64 `json:"mean_us"`
}

// Oracle is the name of the oracle among a Report's variants.
const Oracle = "oracle"

// Report summarizes the measurements.
func (m *Measured) Report() *Report {
	r := &Report{Mode: m.Mode, K: m.K, Queries: len(m.Queries), Rounds: m.Rounds}
	for v, name := range m.Names {
		f := Figures{Name: name, Latency: percentiles(m.Medians(v))}
		f.ran(m, v)
		r.Variants = append(r.Variants, f)
	}
	if m.oracle {
		r.addOracle(m)
	}
	cpu, gpu := r.find(string(dispatch.PolicyCPU)), r.find(string(dispatch.PolicyGPU))
	for i := range r.Variants {
		f := &r.Variants[i]
		f.OverCPU, f.OverGPU = over(cpu, f), over(gpu, f)
	}
	r.classes(m)
	return r
}

func (f *Figures) ran(m *Measured, variant int) {
	var all []time.Duration
	var runs, both, gpu, migrations int
	for i := range m.Queries {
		q := &m.Queries[i]
		all = append(all, q.Took[variant]...)
		for _, p := range q.Ran[variant] {
			runs++
			migrations += p.Migrations
			switch {
			case p.CPU && p.GPU:
				both++
			case p.GPU:
				gpu++
			}
		}
	}
	n := float64(max(runs, 1))
	f.OnCPU, f.OnGPU, f.OnBoth = float64(runs-gpu-both)/n, float64(gpu)/n, float64(both)/n
	f.Migrations = float64(migrations) / n
	s := latency.Summarize(all)
	f.AllRuns = &s
}

// Medians returns each query's median time with a variant, in query order.
func (m *Measured) Medians(variant int) []time.Duration {
	medians := make([]time.Duration, len(m.Queries))
	for i := range m.Queries {
		medians[i] = median(m.Queries[i].Took[variant])
	}
	return medians
}

func (r *Report) find(name string) *Figures {
	i := slices.IndexFunc(r.Variants, func(f Figures) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Variants[i]
}

func (r *Report) addOracle(m *Measured) {
	oracle := make([]time.Duration, len(m.Queries))
	sums := make([]time.Duration, len(m.Names))
	var sum, least time.Duration
	for i := range m.Queries {
		var lucky time.Duration
		oracle[i], lucky = m.Queries[i].oracle(m.policies)
		sum += oracle[i]
		least += lucky
		for v := range m.Names {
			sums[v] += median(every2nd(m.Queries[i].withOracle(v), 1))
		}
	}
	for v := range m.policies {
		regret, atMost := float64(sums[v])/float64(max(sum, 1))-1, float64(sums[v])/float64(max(least, 1))-1
		r.Variants[v].Regret, r.Variants[v].RegretAtMost = &regret, &atMost
	}
	r.Variants = append(r.Variants, Figures{Name: Oracle, Latency: percentiles(oracle)})
}

// oracle returns the query's time with the best placement or policy, chosen by the maximum of
// the even rounds, to exclude lucky cache hits, and measured by the odd ones. lucky is the
// minimum over all ways in the odd rounds.
func (t *Measurement) oracle(policies int) (took, lucky time.Duration) {
	best, lucky := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	ways := slices.Clone(t.placed)
	for v := range policies {
		ways = append(ways, t.withOracle(v))
	}
	for _, times := range ways {
		if times == nil || slices.Contains(times, 0) { // not possible, or excluded as hopeless
			continue
		}
		odd := median(every2nd(times, 1))
		lucky = min(lucky, odd)
		if even := slices.Max(every2nd(times, 0)); even < best {
			best, took = even, odd
		}
	}
	return took, lucky
}

// withOracle returns times by round, with the oracle's Searcher if measured.
func (t *Measurement) withOracle(variant int) []time.Duration {
	if variant < len(t.beside) && t.beside[variant] != nil {
		return t.beside[variant]
	}
	return t.Took[variant]
}

func every2nd(times []time.Duration, from int) []time.Duration {
	var some []time.Duration
	for i := from; i < len(times); i += 2 {
		some = append(some, times[i])
	}
	return some
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func percentiles(times []time.Duration) Percentiles {
	sorted := slices.Sorted(slices.Values(times))
	sum := time.Duration(0)
	for _, d := range sorted {
		sum += d
	}
	at := func(num, den int) float64 { return micros(latency.Quantile(sorted, num, den)) }
	return Percentiles{
		Mean: micros(sum) / float64(max(len(sorted), 1)),
		P50:  at(50, 100), P80: at(80, 100), P90: at(90, 100), P95: at(95, 100), P99: at(99, 100), P999: at(999, 1000), Max: at(1, 1),
	}
}

// over returns nil without base.
func over(base, f *Figures) *Percentiles {
	if base == nil {
		return nil
	}
	a, b := &base.Latency, &f.Latency
	return &Percentiles{
		Mean: a.Mean / b.Mean, P50: a.P50 / b.P50, P80: a.P80 / b.P80, P90: a.P90 / b.P90, P95: a.P95 / b.P95,
		P99: a.P99 / b.P99, P999: a.P999 / b.P999, Max: a.Max / b.Max,
	}
}

func (r *Report) classes(m *Measured) {
	type key struct{ by, name string }
	var keys []key
	members := map[key][]int{}
	for i := range m.Queries {
		for _, k := range []key{
			{"terms", termsClass(m.Queries[i].DocFreqs)},
			{"shortest list", shortestClass(m.Queries[i].DocFreqs)},
			{"ratio", ratioClass(m.Queries[i].DocFreqs)},
		} {
			if members[k] == nil {
				keys = append(keys, k)
			}
			members[k] = append(members[k], i)
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return compareClasses(a.by, a.name, b.by, b.name) })
	cpu, gpu := slices.Index(m.Names, string(dispatch.PolicyCPU)), slices.Index(m.Names, string(dispatch.PolicyGPU))
	for _, k := range keys {
		c := Class{By: k.by, Name: k.name, Queries: len(members[k]), Mean: map[string]float64{}}
		for v, name := range m.Names {
			sum := time.Duration(0)
			for _, i := range members[k] {
				sum += slices.Min(m.Queries[i].Took[v])
			}
			c.Mean[name] = micros(sum) / float64(c.Queries)
		}
		r.Classes = append(r.Classes, c)
		if cpu < 0 || gpu < 0 {
			continue
		}
		alone := min(c.Mean[m.Names[cpu]], c.Mean[m.Names[gpu]])
		for v := range m.policies {
			f := &r.Variants[v]
			if excess := c.Mean[f.Name]/alone - 1; f.Excess == nil || excess > *f.Excess {
				f.Excess, f.Worst = &excess, fmt.Sprintf("%s %s (%d)", c.By, c.Name, c.Queries)
			}
		}
	}
}

// termsClass counts terms in the index.
func termsClass(docFreqs []uint64) string {
	n := 0
	for _, f := range docFreqs {
		if f > 0 {
			n++
		}
	}
	if n >= 6 {
		return "6+"
	}
	return fmt.Sprint(n)
}

var shortestClasses = []string{"0", "1-999", "1K-9K", "10K-99K", "100K-999K", "1M+"}

// shortestClass is in powers of ten.
func shortestClass(docFreqs []uint64) string {
	switch {
	case len(docFreqs) == 0 || docFreqs[0] == 0:
		return shortestClasses[0]
	case docFreqs[0] < 1e3:
		return shortestClasses[1]
	case docFreqs[0] < 1e4:
		return shortestClasses[2]
	case docFreqs[0] < 1e5:
		return shortestClasses[3]
	case docFreqs[0] < 1e6:
		return shortestClasses[4]
	}
	return shortestClasses[5]
}

var ratioClasses = []string{"none", "[1,16)", "[16,32)", "[32,64)", "[64,128)", "[128,256)", "[256,512)", "[512,1024)", "1024+"}

// ratioClass has the groups of griffin18, §3.2.
func ratioClass(docFreqs []uint64) string {
	if len(docFreqs) < 2 || docFreqs[0] == 0 {
		return ratioClasses[0]
	}
	const firstBits = 4 // the first group ends at 16
	ratio := docFreqs[1] / docFreqs[0]
	return ratioClasses[min(max(bits.Len64(ratio)-firstBits, 0), len(ratioClasses)-2)+1]
}

func compareClasses(byA, a, byB, b string) int {
	if byA != byB {
		order := []string{"terms", "shortest list", "ratio"}
		return slices.Index(order, byA) - slices.Index(order, byB)
	}
	for _, names := range [][]string{shortestClasses, ratioClasses} {
		if i, j := slices.Index(names, a), slices.Index(names, b); byA != "terms" && i >= 0 && j >= 0 {
			return i - j
		}
	}
	return slices.Index([]string{"0", "1", "2", "3", "4", "5", "6+"}, a) - slices.Index([]string{"0", "1", "2", "3", "4", "5", "6+"}, b)
}
