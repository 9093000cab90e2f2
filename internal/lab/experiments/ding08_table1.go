package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func ding08Table1() lab.Experiment {
	return lab.Experiment{
		Name: "ding08-table1", Paper: "ding08", Shows: "Table 1", Title: "Decompression and intersection, first results",
		Did: "Milliseconds per query, for 1,000 queries on GOV2 (25.6 million documents) with 3.74 million postings each. All lists are " +
			"Rice codes, are decompressed completely, then intersected by merging. The GPU is 2.27 times as fast " +
			"at decompression, 2.93 times at intersection, and 2.37 times overall.",
		Ours: "The queries of [Table 2 of ding09](ding09-table2.md) as AND. GPU: the engine ding09 with the poster's options, `codec=rice,skip=no`, and all lists in device memory; " +
			"device times of its steps decompression and intersection (splitters of three levels), the median of 9 rounds after a warm-up, in which all hits are compared with Griffin on the CPU. " +
			"CPU: one core decodes the lists from Rice codes to DocIDs and intersects them pairwise, the shortest first, by merging; and, in the last column, by galloping. " +
			"A query's time is the median of 3 rounds after a warm-up, the numbers are means over queries.",
		Differs: "300 queries. The engine also has steps for initialization, scores and the best 10, which the poster does not have; they are not in the table. " +
			"The GPU was a GeForce 8800 GTS; the poster does not name the CPU. Direction: our merge on the CPU is slower than the poster's intersection. A merge visits every element of every list, " +
			"and its branches are unpredictable; the poster's 1.5 ns per posting are not enough for that, so its CPU probably skips in decoded lists, as our galloping does.",
		Verdicts: ding08Table1Verdicts,
		Budget:   6 * time.Minute,
		Run:      runDing08Table1,
	}
}

// Of ding08: lists are not skipped.
const ding08OnGPU = ding09OnGPU + ",codec=rice,skip=no"

func runDing08Table1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	if _, _, err := gov2(ctx, env); err != nil {
		return nil, err
	}
	s, err := newDing09Sample(ctx, env)
	if err != nil {
		return nil, err
	}
	const rows, decompression, intersection = 3, 0, 1
	t := lab.NewTable("Milliseconds a query", "", []string{"decompression", "intersection", "total"}, []string{"CPU", "GPU", "speed-up", "CPU, galloping"})
	t.SetPapers(0, 25.89, 11.39, 2.27)
	t.SetPapers(1, 5.73, 1.95, 2.93)
	t.SetPapers(2, 31.62, 13.35, 2.37)
	merging, galloping, err := s.riceOnCPU(ctx, env)
	if err != nil {
		return nil, err
	}
	var gpu [rows]float64
	if d != nil {
		if gpu[decompression], gpu[intersection], err = s.riceOnGPU(ctx, env); err != nil {
			return nil, err
		}
		gpu[2] = gpu[decompression] + gpu[intersection]
	}
	for row := range rows {
		t.Set(row, 0, merging[row])
		t.Set(row, 3, galloping[row])
		if d == nil {
			t.Leave(row, 1, noDevice)
			t.Leave(row, 2, noDevice)
			continue
		}
		t.Set(row, 1, gpu[row])
		t.Set(row, 2, merging[row]/gpu[row])
	}
	f := &lab.Figure{
		Title: t.Title, Kind: lab.Bars, LogY: true, X: "step", Y: "ms", Categories: t.Rows,
		Series: []lab.Series{{Name: "CPU", Points: lab.Heights(merging[:]...)}, {Name: "CPU of the poster, 2008", Paper: true, Points: lab.Heights(25.89, 5.73, 31.62)}},
	}
	r := &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{f}, Notes: []string{s.note()}}
	if d != nil {
		on := *f
		on.Title = "Milliseconds a query on the GPU"
		on.Series = []lab.Series{{Name: "GPU", Points: lab.Heights(gpu[:]...)}, {Name: "GPU of the poster, 2008", Paper: true, Points: lab.Heights(11.39, 1.95, 13.35)}}
		r.Figures = append(r.Figures, &on)
	}
	return r, nil
}

// riceOnCPU returns mean milliseconds: decompression, intersection by merging or by galloping, total.
func (s *ding09Sample) riceOnCPU(ctx context.Context, env *lab.Env) (merging, galloping [3]float64, err error) {
	var times [3][]time.Duration // decompression, merge, gallop
	for i := range s.queries {
		if i%16 == 0 {
			env.Progress("Rice on the CPU", i, len(s.queries))
		}
		variants, err := s.riceVariants(i)
		if err != nil {
			return merging, galloping, err
		}
		took, err := lab.Compare(ctx, lab.Pick(env, 3, 1), variants...)
		if err != nil {
			return merging, galloping, err
		}
		for v := range times {
			times[v] = append(times[v], took[v].Median)
		}
	}
	decompression := meanMilliseconds(times[0])
	for i, a := range []*[3]float64{&merging, &galloping} {
		*a = [3]float64{decompression, meanMilliseconds(times[1+i]), decompression + meanMilliseconds(times[1+i])}
	}
	return merging, galloping, nil
}

// riceVariants decode and intersect the lists of query i.
func (s *ding09Sample) riceVariants(i int) ([]lab.Variant, error) {
	var lists [][]uint32
	for _, term := range s.queries[i].Terms {
		l, err := s.c.DocIDs(nil, term)
		if err != nil {
			return nil, err
		}
		lists = append(lists, l)
	}
	slices.SortStableFunc(lists, func(a, b []uint32) int { return cmp.Compare(len(a), len(b)) })
	coded, err := encodeAll("rice", lists)
	if err != nil {
		return nil, err
	}
	rooms := [2][]uint32{make([]uint32, 0, len(lists[0])), make([]uint32, 0, len(lists[0]))}
	intersection := func(pairwise func(dst, a, b []uint32) []uint32) int {
		result := lists[0]
		for j, next := range lists[1:] {
			result = pairwise(rooms[j%2][:0], result, next)
		}
		return len(result)
	}
	merged := intersection(mergeIntersect)
	by := func(name string, pairwise func(dst, a, b []uint32) []uint32) lab.Variant {
		return lab.Variant{Name: name, Do: func() error {
			if n := intersection(pairwise); n != merged {
				return fmt.Errorf("query %s: %s finds %d, the merge %d", s.queries[i].ID, name, n, merged)
			}
			return nil
		}}
	}
	return []lab.Variant{{Name: "rice", Do: func() error { return decodeAll(coded) }}, by("merge", mergeIntersect), by("galloping", gallopIntersect)}, nil
}

// riceOnGPU returns mean device milliseconds of the engine's steps.
func (s *ding09Sample) riceOnGPU(ctx context.Context, env *lab.Env) (decompression, intersection float64, err error) {
	e, err := openDing09(ctx, env, s.c, s.queries, ding08OnGPU)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	const and = 0 // in ding09Modes
	steps, err := s.steps(ctx, env, e, and, lab.Pick(env, 9, 1))
	return meanMilliseconds(steps[ding09Decompression]), meanMilliseconds(steps[ding09Intersection]), err
}
