package experiments

import (
	"context"
	"fmt"
	"slices"
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
			"lists compressed with LRC, decoding only the compared values; the paper leaves open how it searches ParaPFD. " +
			"HS16 is fastest in all uncompressed collections, HS128_LRC in all compressed ones.",
		Ours: ao11Ours + " On the GPU: batches of a million elements. " + paraOurs + " The skip list intersects the same queries on one thread, in uncompressed lists: " +
			"the median of 3 rounds after a warm-up. ParaPFD: all lists of a batch are decoded completely, then searched by binary search; " +
			"decoding is inside the time. On one thread of a CPU: the same searches for 150 of the queries, each in turns with the skip list, the minimum of 5 rounds; " +
			"with compressed lists the shortest one is decompressed first, inside the time. All methods give the same number of DocIDs, which is compared with other intersections.",
		Differs: "The second table shows the paper's numbers, measured on a GPU, next to ours of a CPU, to compare the searches " +
			"with each other, not the processors. There, ParaPFD decodes blocks of 128 (two segments) and caches the " +
			"last one. The speed-ups on the GPU are larger than the paper's in all columns: the GPU has become faster than a thread of a CPU. " +
			"ParaPFD gains least, since whole lists are decoded; the paper leaves open whether it does so.",
		Verdicts: ao11Table3Verdicts,
		Budget:   25 * time.Minute,
		Run:      runAo11Table3,
	}
}

// The paper's methods.
var ao11SpeedupNames = []string{
	"IS", "BS", "LR", "HS32", "HS16", "ParaPFD (0.2)", "ParaPFD (0.0)", "LRC", "LRCSeg", "SegLRC", "HS256_LRC", "HS128_LRC",
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
	columns := ao11SpeedupNames
	var rows []string
	for _, c := range ao11Collections[:ao11GOVs] {
		rows = append(rows, c.name)
	}
	rows = append(rows, "BD", "BDR")
	speed := lab.NewTable("Speed relative to the skip list, all on one thread of a CPU", "collection", rows, columns)
	times := lab.NewTable("Time a search on the CPU", "collection", rows[:ao11GOVs], append([]string{skipName + ", ns"}, columns...))
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	onDevice := lab.NewTable("Speed on the GPU relative to the skip list on the CPU", "collection", rows, append(slices.Clone(columns), skipName+", queries a second"))
	for row := range rows {
		switch {
		case row >= ao11GOVs:
			onDevice.LeaveRow(row, noBaidu)
		case d == nil:
			onDevice.LeaveRow(row, noDevice)
		}
	}
	err = ao11Rows(ctx, env, speed, ao11GOVs, func(row int, name string, c *lab.Collection, queries []lab.Query) error {
		if d != nil {
			if err := deviceSpeeds(ctx, env, d, onDevice, row, c, queries); err != nil {
				return err
			}
		}
		asked, err := askedOf(c, queries, lab.Pick(env, 150, 10))
		if err != nil {
			return err
		}
		timings, searches, err := timeWays(ctx, env, c, asked)
		if err != nil {
			return err
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
		overBinary("One thread of a CPU: searches in uncompressed lists, binary search = 1", speed, 0, ao11Compressed, false),
		overBinary("One thread of a CPU: searches in compressed lists, binary search of uncompressed ones = 1", speed, ao11Compressed, len(columns), false),
	}
	if d != nil {
		figures = append(figures,
			overBinary("GPU: searches in uncompressed lists, binary search = 1", onDevice, 0, ao11Compressed, true),
			overBinary("GPU: searches in compressed lists, binary search of uncompressed ones = 1", onDevice, ao11Compressed, len(columns), true))
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
func overBinary(title string, speed *lab.Table, from, to int, paper bool) *lab.Figure {
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
	if !paper {
		return f
	}
	var heights []float64
	for _, c := range speed.Cells[0][from:to] {
		heights = append(heights, *c.Paper / *speed.Cells[0][ao11BinarySearch].Paper)
	}
	f.Series = append(f.Series, lab.Series{Name: "paper, GOV", Paper: true, Points: lab.Heights(heights...)})
	return f
}

// timeWays measures every method, and returns the number of searches.
func timeWays(ctx context.Context, env *lab.Env, c *lab.Collection, asked [][][]uint32) ([]lab.Timing, int, error) {
	var timings []lab.Timing
	q, err := newParaQueries(ctx, asked, c.NumDocs())
	if err != nil {
		return nil, 0, err
	}
	want, searches := q.found(), 0
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
				if searches == 0 {
					searches = r.searches
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

// deviceSpeeds sets the row of a collection: throughputs of PARA relative to the skip list on the same queries.
func deviceSpeeds(ctx context.Context, env *lab.Env, d *lab.Device, t *lab.Table, row int, c *lab.Collection, queries []lab.Query) error {
	name := t.Rows[row]
	plain, err := measurePara(ctx, env, d, &paraUncompressed, name, c, queries)
	if err != nil {
		return err
	}
	compressed, err := measurePara(ctx, env, d, &paraCompressed, name, c, queries)
	if err != nil {
		return err
	}
	q, err := ao11Asked(ctx, env, name, c, queries)
	if err != nil {
		return err
	}
	skip, err := skipThroughput(ctx, env, q)
	if err != nil {
		return err
	}
	for column, way := range ao11SpeedupNames {
		runs := plain
		if column >= ao11Compressed {
			runs = compressed
		}
		t.Set(row, column, runs.at(way, ao11Million(env)).throughput()/skip)
	}
	t.Set(row, len(ao11SpeedupNames), skip)
	return nil
}

// skipThroughput is of the skip list, in queries per second.
func skipThroughput(ctx context.Context, env *lab.Env, q *paraQueries) (float64, error) {
	asked := make([][][]uint32, len(q.queries))
	for i, query := range q.queries {
		asked[i] = listsAt(q.lists, query)
	}
	skip, err := ao11Ways[0].prepare(asked, q.universe)
	if err != nil {
		return 0, err
	}
	t, err := lab.Compare(ctx, lab.Pick(env, 3, 1), lab.Variant{Name: skipName, Do: func() error {
		if found := skip.run(); found != q.found() {
			return fmt.Errorf("%s finds %d DocIDs, not %d", skipName, found, q.found())
		}
		return nil
	}})
	if err != nil {
		return 0, err
	}
	return float64(len(asked)) / max(t[0].Median.Seconds(), 1e-9), nil
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
