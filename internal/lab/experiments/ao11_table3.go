package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Table3() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-table3", Paper: "ao11", Shows: "Table 3", Title: "Speed of searches against a skip list",
		Did: "The speed-up of intersection on a GeForce GTX 480 over a single-threaded skip list on an AMD Phenom " +
			"II X4 945. Each DocID of the shortest list is searched independently in the others: by interpolation" +
			" (IS), by binary search (BS), in safe ranges around a line (LR), in hash buckets (HS), or in " +
			"compressed lists, decoding only the compared values.",
		Ours: "The same searches on one thread of a CPU: the time of the skip list divided by theirs, for 150 " +
			"queries of the 2006 log with 2 or more terms. With compressed lists the shortest one is decompressed" +
			" first. All give the same intersections. Also on the GPU by PARA, in batches of a million elements " +
			"of shortest lists, with lists in device memory and results copied to host memory.",
		Differs: "The CPU table shows the paper's numbers, measured on a GPU, next to ours to compare the searches " +
			"with each other, not the processors. ParaPFD decodes blocks of 128 (two segments) and caches the " +
			"last one. GOV2 is not in the paper's table.",
		Budget: 4 * time.Minute,
		Run:    runAo11Table3,
	}
}

// The paper's numbers, by data set, then method.
var ao11Speedups = map[string][]float64{
	"GOV":   {8.69, 14.59, 16.22, 22.14, 23.29, 4.05, 5.86, 10.79, 10.79, 12.07, 14.26, 14.38},
	"GOVPR": {7.67, 14.81, 15.86, 22.45, 23.54, 4.10, 5.94, 10.68, 10.67, 11.74, 14.10, 14.22},
	"GOVR":  {9.48, 14.29, 16.19, 20.96, 22.01, 3.97, 5.77, 10.97, 10.98, 12.42, 14.21, 14.24},
	"BD":    {2.16, 9.86, 9.98, 14.19, 14.67, 2.65, 3.87, 7.22, 7.24, 7.42, 8.60, 8.78},
	"BDR":   {5.64, 8.70, 9.42, 12.35, 12.96, 2.43, 3.53, 7.24, 7.22, 7.93, 8.80, 8.81},
}

func runAo11Table3(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	var columns []string
	for _, w := range ao11Ways[1:] {
		columns = append(columns, w.name)
	}
	var rows []string
	for _, c := range ao11Collections[:ao11GOVs] {
		rows = append(rows, c.name)
	}
	rows = append(rows, "BD", "BDR")
	speed := lab.NewTable("Speed over that of the skip list", "collection", rows, columns)
	times := lab.NewTable("Time a search", "collection", rows[:ao11GOVs], append([]string{skipName + ", ns"}, columns...))
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	onDevice := lab.NewTable("Speed on the GPU over that of the skip list on the CPU", "collection", rows, columns)
	for row := range rows {
		switch {
		case row >= ao11GOVs:
			onDevice.LeaveRow(row, noBaidu)
		case d == nil:
			onDevice.LeaveRow(row, noDevice)
		}
	}
	err = ao11Rows(ctx, env, speed, ao11GOVs, func(row int, name string, c *lab.Collection, queries []lab.Query) error {
		asked, err := askedOf(c, queries, lab.Pick(env, 150, 10))
		if err != nil {
			return err
		}
		timings, searches, err := timeWays(ctx, env, c, asked)
		if err != nil {
			return err
		}
		if d != nil {
			if err := deviceWays(ctx, env, d, onDevice, row, asked, c.NumDocs(), timings[0].Per(len(asked))); err != nil {
				return err
			}
		}
		for i, t := range timings {
			times.Set(row, i, t.Per(searches))
			if i > 0 {
				speed.Set(row, i-1, float64(timings[0].Min)/float64(t.Min))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for row, name := range rows {
		speed.SetPapers(row, ao11Speedups[name]...)
		onDevice.SetPapers(row, ao11Speedups[name]...)
	}
	figures := []*lab.Figure{
		overBinary("Speed of searches in lists that are not compressed, binary search = 1", speed, 0, ao11Compressed),
		overBinary("Speed of searches in compressed lists, binary search of uncompressed ones = 1", speed, ao11Compressed, len(columns)),
	}
	return &lab.Result{Tables: []*lab.Table{onDevice, speed, times}, Figures: figures, Notes: []string{
		"A skip list continues from the end of the previous search, which the paper's parallel searches cannot do; on one thread this is as valuable as a good first guess.",
	}}, nil
}

const (
	ao11BinarySearch = 1 // the column of BS
	ao11Compressed   = 5 // the first column of compressed lists
)

// overBinary draws columns [from, to) relative to binary search.
func overBinary(title string, speed *lab.Table, from, to int) *lab.Figure {
	f := &lab.Figure{
		Title: title, Kind: lab.Bars, X: "search", Y: "speed over that of BS", Categories: speed.Columns[from:to],
	}
	for row, cells := range speed.Cells[:ao11GOVs] {
		var ours []float64
		for _, c := range cells[from:to] {
			ours = append(ours, *c.Ours / *cells[ao11BinarySearch].Ours)
		}
		f.Series = append(f.Series, lab.Series{Name: speed.Rows[row], Points: lab.Heights(ours...)})
	}
	var paper []float64
	for _, c := range speed.Cells[0][from:to] {
		paper = append(paper, *c.Paper / *speed.Cells[0][ao11BinarySearch].Paper)
	}
	f.Series = append(f.Series, lab.Series{Name: "paper, GOV, on a GPU", Paper: true, Points: lab.Heights(paper...)})
	return f
}

// timeWays measures every method, and returns the number of searches.
func timeWays(ctx context.Context, env *lab.Env, c *lab.Collection, asked [][][]uint32) ([]lab.Timing, int, error) {
	var timings []lab.Timing
	want, searches := -1, 0
	// One by one, each with the skip list: all codecs together would need too much
	// memory.
	var base []time.Duration
	for _, w := range ao11Ways {
		run, err := w.prepare(asked, c.NumDocs())
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", w.name, err)
		}
		skip, err := ao11Ways[0].prepare(asked, c.NumDocs())
		if err != nil {
			return nil, 0, err
		}
		check := func(r *intersections) func() error {
			return func() error {
				found := r.run()
				if want < 0 {
					want, searches = found, r.searches
				}
				if found != want || r.searches != searches {
					return fmt.Errorf("%s finds %d with %d searches, %s %d with %d", w.name, found, r.searches, skipName, want, searches)
				}
				return nil
			}
		}
		t, err := lab.Compare(ctx, lab.Pick(env, 5, 1), lab.Variant{Name: skipName, Do: check(skip)}, lab.Variant{Name: w.name, Do: check(run)})
		if err != nil {
			return nil, 0, err
		}
		base = append(base, t[0].Min)
		timings = append(timings, t[1])
	}
	// Scale each time to the first measurement of the skip list.
	for i := range timings {
		timings[i].Min = time.Duration(float64(timings[i].Min) * float64(timings[0].Min) / float64(base[i]))
	}
	return timings, searches, nil
}

// skip is the time of the skip list per query in nanoseconds.
func deviceWays(ctx context.Context, env *lab.Env, d *lab.Device, t *lab.Table, row int, asked [][][]uint32, universe int, skip float64) error {
	for column, name := range t.Columns {
		w, ok := paraWayOf(name)
		if !ok {
			t.Leave(row, column, "PARA searches lists element by element, which ParaPFD does not allow.")
			continue
		}
		runs, err := runWay(ctx, env, d, w, asked, universe, lab.Pick(env, 1<<20, 1<<10))
		if err != nil {
			return err
		}
		t.Set(row, column, skip*runs[0].throughput()/1e9)
	}
	return nil
}

type intersections struct {
	queries  []preparedQuery
	buffer   []uint32
	searches int // in the last run
}

type preparedQuery struct {
	shortest []uint32 // nil: decode provides it
	n        int
	decode   func(dst []uint32)
	others   []searcher
}

// prepare opens the lists of queries, each from short to long.
func (w *ao11Way) prepare(queries [][][]uint32, universe int) (*intersections, error) {
	var c codec.Codec
	var err error
	if w.spec != "" {
		if c, err = codec.Lookup(w.spec); err != nil {
			return nil, err
		}
	}
	opened := map[*uint32]searcher{}
	open := func(docIDs []uint32) (searcher, error) {
		s, ok := opened[&docIDs[0]]
		if !ok {
			if s, err = w.open(&ao11List{docIDs: docIDs, universe: universe}, c); err != nil {
				return nil, err
			}
			opened[&docIDs[0]] = s
		}
		return s, nil
	}
	r := &intersections{}
	for _, lists := range queries {
		q := preparedQuery{shortest: lists[0], n: len(lists[0])}
		if c != nil {
			s, err := open(lists[0])
			if err != nil {
				return nil, err
			}
			q.shortest, q.decode = nil, s.(interface{ decode(dst []uint32) }).decode
			if len(r.buffer) < q.n {
				r.buffer = make([]uint32, q.n)
			}
		}
		for _, l := range lists[1:] {
			s, err := open(l)
			if err != nil {
				return nil, err
			}
			q.others = append(q.others, s)
		}
		r.queries = append(r.queries, q)
	}
	return r, nil
}

// run returns the number of DocIDs found.
func (r *intersections) run() (found int) {
	r.searches = 0
	for i := range r.queries {
		q := &r.queries[i]
		docIDs := q.shortest
		if docIDs == nil {
			docIDs = r.buffer[:q.n]
			q.decode(docIDs)
		}
		for _, s := range q.others {
			s.reset()
		}
	next:
		for _, d := range docIDs {
			for _, s := range q.others {
				r.searches++
				if !s.has(d) {
					continue next
				}
			}
			found++
		}
	}
	return found
}
