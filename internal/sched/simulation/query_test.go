package simulation

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sched"
)

func TestReadCosts(t *testing.T) {
	const text = "query\tcpu_us\tgpu_us\tbatched_us\twork\n1\t1000\t20.5\t15\t100\n# a comment\n\n2\t-\t5\r\nthree\t0.0001\t-\t-\t7\n"
	got, err := ReadCosts(strings.NewReader(text))
	want := []Query{
		{"1", time.Millisecond, 20500, 15 * time.Microsecond, 100},
		{"2", sched.Never, 5 * time.Microsecond, 0, 0},
		{"three", 1, sched.Never, 0, 7},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, c := range []struct{ text, says string }{
		{"", "no queries"},
		{"1\t2", "line 1: bad input: 2 columns"},
		{"1\t2\t3\n1\tfast\t2", `line 2: bad input: column 2: "fast"`},
		{"1\t2\t-1", `column 3: "-1"`},
		{"1\tNaN\t1", `column 2: "NaN"`},
		{"1\t1e300\t1", "column 2"},
		{"1\t1\t1\t1\tmany", "column 5"},
		{"1\t-\t-", "no processor"},
	} {
		t.Run(c.says, func(t *testing.T) {
			_, err := ReadCosts(strings.NewReader(c.text))
			if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v, want %q", c.text, err, c.says)
			}
		})
	}
}

func FuzzReadCosts(f *testing.F) {
	f.Add([]byte("query\tcpu_us\tgpu_us\n1\t1000\t20.5\t15\t100\n2\t-\t5\n"))
	f.Add([]byte("1\t0.001\t1e3\t-\n\n#\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		queries, err := ReadCosts(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteCosts(&b, queries); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCosts(&b)
		// An id that looks like a comment is lost.
		if slices.ContainsFunc(queries, func(q Query) bool { return strings.HasPrefix(q.ID, "#") }) {
			return
		}
		if err != nil || !slices.Equal(again, queries) {
			t.Fatalf("%+v written and read: %+v, %v", queries, again, err)
		}
	})
}

func FuzzReadArrivals(f *testing.F) {
	queries := []Query{{ID: "1", CPU: 1, GPU: 1}, {ID: "b", CPU: 1, GPU: 1}}
	f.Add([]byte("100\t1\n100.5\tb\n101\n"))
	f.Add([]byte("# seconds\n-1e3\n0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		arrivals, err := ReadArrivals(bytes.NewReader(text), queries)
		if err != nil {
			return
		}
		last := time.Duration(0)
		for _, a := range arrivals {
			if a.At < last || a.Query < 0 || a.Query >= len(queries) {
				t.Fatalf("%+v", arrivals)
			}
			last = a.At
		}
	})
}

func TestPredict(t *testing.T) {
	// ding09: 22 % for the GPU.
	if got := sigmaOf(0.22); math.Abs(got-0.2766) > 5e-5 {
		t.Errorf("sigma of 0.22 is %v, want 0.2766", got)
	}
	queries := make([]Query, 200_000)
	for i := range queries {
		queries[i] = Query{CPU: time.Second, GPU: 2 * time.Second, Batched: time.Second}
	}
	for _, relative := range []float64{0, 0.2, 0.22, 0.8} {
		var errs, sum, batched float64
		for _, q := range predict(queries, relative, 1) {
			errs += math.Abs(q.CPU.Seconds() - 1)
			sum += q.GPU.Seconds() / 2
			batched = max(batched, math.Abs(q.GPU.Seconds()/2-q.Batched.Seconds()))
		}
		n := float64(len(queries))
		if math.Abs(errs/n-relative) > 0.01 || math.Abs(sum/n-1) > 0.01 || batched > 1e-8 {
			t.Errorf("error %v: mean relative error %v, mean %v, parts differ by %v", relative, errs/n, sum/n, batched)
		}
	}
}
