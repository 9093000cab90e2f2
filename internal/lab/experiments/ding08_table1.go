package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

func ding08Table1() lab.Experiment {
	return lab.Experiment{
		Name: "ding08-table1", Paper: "ding08", Shows: "Table 1", Title: "Decompression and intersection, first results",
		Did: "Milliseconds per query, for 1,000 queries on GOV2 with 3.74 million postings each. All lists are " +
			"Rice codes, are decompressed completely, then intersected by merging. The GPU is 2.27 times as fast " +
			"at decompression, 2.93 times at intersection, and 2.37 times overall.",
		Ours: "A generated collection similar to GOV2, the first 200 of its queries. Rice codes are decoded to " +
			"DocIDs and the lists intersected pairwise, the shortest first: on one core with linear merges, on " +
			"the GPU with parallel merge finds of three levels. Device times, with lists in device memory.",
		Differs: "The GPU was a GeForce 8800 GTS; the paper does not name the CPU.",
		Budget:  3 * time.Minute,
		Run:     runDing08Table1,
	}
}

func runDing08Table1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	asked, err := askedOf(c, queries, lab.Pick(env, 200, 20))
	if err != nil {
		return nil, err
	}
	t := lab.NewTable("Milliseconds a query", "", []string{"decompression", "intersection", "total"}, []string{"CPU", "GPU", "speed-up"})
	t.SetPapers(0, 25.89, 11.39, 2.27)
	t.SetPapers(1, 5.73, 1.95, 2.93)
	t.SetPapers(2, 31.62, 13.35, 2.37)
	var cpu, gpu [2]float64 // decompression, intersection; milliseconds of all queries
	var room []uint32
	for i, lists := range asked {
		env.Progress("queries", i, len(asked))
		times, err := decodeTimes(ctx, lists, 1, "rice")
		if err != nil {
			return nil, err
		}
		cpu[0] += times[0] * float64(len(lists)) / 1000
		start := time.Now()
		result := append(room[:0], lists[0]...)
		for _, next := range lists[1:] {
			result = mergeIntersect(result[:0], result, next)
		}
		cpu[1] += time.Since(start).Seconds() * 1000
		room = result
		if d == nil {
			continue
		}
		decoding, intersecting, err := riceQuery(ctx, env, d, lists, len(result))
		if err != nil {
			return nil, fmt.Errorf("query %d: %w", i, err)
		}
		gpu[0] += decoding
		gpu[1] += intersecting
	}
	n := float64(len(asked))
	for row, pair := range [][2]float64{{cpu[0], gpu[0]}, {cpu[1], gpu[1]}, {cpu[0] + cpu[1], gpu[0] + gpu[1]}} {
		t.Set(row, 0, pair[0]/n)
		if d == nil {
			t.Leave(row, 1, noDevice)
			t.Leave(row, 2, noDevice)
			continue
		}
		t.Set(row, 1, pair[1]/n)
		t.Set(row, 2, pair[0]/pair[1])
	}
	return &lab.Result{Tables: []*lab.Table{t}}, nil
}

// riceQuery returns the device milliseconds to decode the lists of a query, and
// to intersect them; the result must have want elements.
func riceQuery(ctx context.Context, env *lab.Env, d *lab.Device, lists [][]uint32, want int) (decoding, intersecting float64, err error) {
	l, err := newDeviceLists(d, "rice", lists)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, l.free()) }()
	rounds := lab.Pick(env, 2, 1)
	took, err := d.Time(ctx, rounds, 1, func() error { return l.decode(decode.DocIDs) })
	if err != nil {
		return 0, 0, err
	}
	decoding = took.Min.Seconds() * 1000
	x, err := intersect.New(d.Device)
	if err != nil {
		return 0, 0, err
	}
	l.frees = append(l.frees, x.Close)
	w, err := intersect.NewWorkspace(d.Device, len(lists[0]), len(lists[len(lists)-1]))
	if err != nil {
		return 0, 0, err
	}
	l.frees = append(l.frees, func() error { w.Free(); return nil })
	var results [2]intersect.Candidates // used alternately
	for i := range results {
		if results[i], err = intersect.NewCandidates(d.Device, 0, len(lists[0])); err != nil {
			return 0, 0, err
		}
		l.frees = append(l.frees, func() error { results[i].Free(); return nil })
	}
	var count cuda.Buffer[uint32]
	took, err = d.Time(ctx, rounds, 1, func() error {
		result := intersect.List{DocIDs: l.out.Slice(l.at[0], l.at[0]+len(lists[0]))}
		for i, docIDs := range lists[1:] {
			next := intersect.List{DocIDs: l.out.Slice(l.at[i+1], l.at[i+1]+len(docIDs))}
			if err := x.MergeFind(d.Stream, w, 3, result, next, results[i%2]); err != nil {
				return err
			}
			result, count = results[i%2].List(), results[i%2].Count
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	found, err := download(&l.deviceMemory, count)
	if err == nil && int(found[0]) != want {
		err = fmt.Errorf("the device finds %d, the CPU %d", found[0], want)
	}
	return decoding, took.Min.Seconds() * 1000, err
}
