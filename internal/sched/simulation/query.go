package simulation

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sched"
)

// Query is the measured times of a query.
type Query struct {
	ID string
	// Times alone; sched.Never: it cannot run there.
	CPU, GPU time.Duration
	// Batched is its addition to a batch on the GPU; 0: the same as GPU.
	Batched time.Duration
	// Number of postings of its shortest list; 0: unknown.
	Work int64
}

// costsHeader is the first line of a file of costs. Times are in microseconds,
// "-" means that a processor cannot run the query; the last two columns are
// optional.
const costsHeader = "query\tcpu_us\tgpu_us\tbatched_us\twork"

// ReadCosts reads tab-separated text, with or without a header. The error wraps
// base.ErrBadInput and contains the line number.
func ReadCosts(r io.Reader) ([]Query, error) {
	var queries []Query
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "" || strings.HasPrefix(line, "#") || number == 1 && strings.HasPrefix(line, "query\t") {
			continue
		}
		q, err := parseCosts(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		queries = append(queries, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read costs: %w", err)
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("%w: no queries", base.ErrBadInput)
	}
	return queries, nil
}

func parseCosts(line string) (Query, error) {
	fields := strings.Split(line, "\t")
	if len(fields) < 3 || len(fields) > 5 {
		return Query{}, fmt.Errorf("%w: %d columns, want 3 to 5: %s", base.ErrBadInput, len(fields), strings.ReplaceAll(costsHeader, "\t", ", "))
	}
	q := Query{ID: fields[0]}
	for i, to := range []*time.Duration{&q.CPU, &q.GPU, &q.Batched} {
		if i+1 >= len(fields) || i == 2 && fields[i+1] == "-" {
			continue
		}
		if fields[i+1] == "-" {
			*to = sched.Never
			continue
		}
		v, err := strconv.ParseFloat(fields[i+1], 64)
		if err != nil || !(v >= 0) || v > float64(time.Hour/time.Microsecond) {
			return q, fmt.Errorf("%w: column %d: %q is not a time in microseconds", base.ErrBadInput, i+2, fields[i+1])
		}
		// A time of 0 could never build a queue.
		*to = max(time.Duration(math.Round(v*1000)), 1)
	}
	if len(fields) == 5 {
		work, err := strconv.ParseInt(fields[4], 10, 64)
		if err != nil || work < 0 {
			return q, fmt.Errorf("%w: column 5: %q is not a number of postings", base.ErrBadInput, fields[4])
		}
		q.Work = work
	}
	if q.CPU == sched.Never && q.GPU == sched.Never {
		return q, fmt.Errorf("%w: no processor can run it", base.ErrBadInput)
	}
	return q, nil
}

// WriteCosts writes the format of ReadCosts, with nanosecond precision.
func WriteCosts(w io.Writer, queries []Query) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, costsHeader)
	for i := range queries {
		q := &queries[i]
		batched := "-"
		if q.Batched > 0 {
			batched = microseconds(q.Batched)
		}
		fmt.Fprintf(b, "%s\t%s\t%s\t%s\t%d\n", q.ID, microseconds(q.CPU), microseconds(q.GPU), batched, q.Work)
	}
	return b.Flush()
}

func microseconds(d time.Duration) string {
	if d == sched.Never {
		return "-"
	}
	return strconv.FormatFloat(float64(d)/1000, 'f', -1, 64)
}

// predict returns the queries with their times multiplied by a lognormal factor
// X of mean 1, chosen such that the mean relative error E|X - 1| is relative.
//
// With parameter sigma, E|X - 1| = 2 erf(sigma / (2 sqrt 2)), so sigma = 2 sqrt
// 2 erfinv(relative/2): for 0.22, ding09's value for the GPU, 0.2766.
func predict(queries []Query, relative float64, seed uint64) []Query {
	if relative == 0 {
		return queries
	}
	sigma := sigmaOf(relative)
	random := rand.New(rand.NewPCG(seed, 0x70726564696374))
	factor := func(d time.Duration, f float64) time.Duration {
		if d == sched.Never || d == 0 {
			return d
		}
		return max(time.Duration(float64(d)*f), 1)
	}
	draw := func() float64 { return math.Exp(sigma*random.NormFloat64() - sigma*sigma/2) }
	predicted := make([]Query, len(queries))
	for i, q := range queries {
		cpu, gpu := draw(), draw()
		q.CPU, q.GPU, q.Batched = factor(q.CPU, cpu), factor(q.GPU, gpu), factor(q.Batched, gpu)
		predicted[i] = q
	}
	return predicted
}

func sigmaOf(relative float64) float64 { return 2 * math.Sqrt2 * math.Erfinv(relative/2) }
