package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

func griffin18Fig7() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig7", Paper: "griffin18", Shows: "Fig. 7", Title: "Selecting the best results",
		Did: "The results of 100 queries, rarely more than some thousand, ranked by bucketSelect and by radixSort " +
			"on the GPU and by partial_sort on the CPU, which is the fastest.",
		Ours: "Random scores in device memory, the best 10 of them, in microseconds until the host has them: by the" +
			" paper's three methods, by the 512-way heap of ding09 (§8.2), and by our method. All give the same " +
			"list.",
		Differs: "The paper prints a figure without numbers. The CPU's time includes the copy of the scores to the " +
			"host, which the paper's query processor also needs.",
		Budget: 2 * time.Minute,
		Run:    runGriffin18Fig7,
	}
}

func runGriffin18Fig7(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	sizes := lab.Pick(env, []int{100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000}, []int{100, 3_000})
	var rows []string
	columns := []string{"partial sort, CPU", "bucket select", "radix sort", "512-way heap", "Griffin"}
	for _, n := range sizes {
		rows = append(rows, fmt.Sprint(n))
	}
	t := lab.NewTable("Time to select the best 10, µs", "results", rows, columns)
	r := &lab.Result{Tables: []*lab.Table{t}}
	if d == nil {
		for row := range rows {
			t.LeaveRow(row, noDevice)
		}
		return r, nil
	}
	figure := &lab.Figure{Title: t.Title, Kind: lab.Lines, LogX: true, LogY: true, X: "results", Y: "time, µs", Series: make([]lab.Series, len(columns))}
	for row, n := range sizes {
		env.Progress("select", row, len(sizes))
		times, err := selectTimes(ctx, env, d, n)
		if err != nil {
			return nil, fmt.Errorf("of %d: %w", n, err)
		}
		for i, us := range times {
			t.Set(row, i, us)
			figure.Series[i].Name = columns[i]
			figure.Series[i].Points = append(figure.Series[i].Points, lab.Point{X: float64(n), Y: us})
		}
	}
	r.Figures = []*lab.Figure{figure}
	return r, nil
}

// Microseconds until the host has the best 10 of n scores: on the CPU, by
// bucket select, radix sort, heap and Griffin's method.
func selectTimes(ctx context.Context, env *lab.Env, d *lab.Device, n int) (times []float64, err error) {
	const k = 10
	m := &deviceMemory{device: d}
	defer func() { err = errors.Join(err, m.free()) }()
	rng := rand.New(rand.NewPCG(env.Seed, uint64(n)))
	scores := make([]uint32, n)
	for i := range scores {
		scores[i] = 1 + rng.Uint32N(1<<20)
	}
	var source selection.Source[uint32]
	if source.Scores, err = upload(m, scores); err != nil {
		return nil, err
	}
	selector, err := selection.New(d.Device)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, selector.Close)
	methods := []selection.Method{selection.Bucket, selection.Radix, selection.Heap, selection.Top}
	scratch, err := selector.NewScratch(n, k, methods...)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, scratch.Free)
	cpu, err := selection.NewCPU(d.Device, n, 0)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, cpu.Free)
	out, err := room[selection.Key](m, k)
	if err != nil {
		return nil, err
	}
	back, err := cuda.AllocHost[selection.Key](d.Device, k)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, back.Free)
	var want, got []base.Hit
	variants := []lab.Variant{{Name: "CPU", Do: func() (err error) {
		want, err = cpu.AppendHits(want[:0], d.Stream, source, k)
		return err
	}}}
	for _, method := range methods {
		variants = append(variants, lab.Variant{Name: method.String(), Do: func() error {
			if err := selector.Select(d.Stream, method, source, k, out, scratch); err != nil {
				return err
			}
			if err := cuda.CopyToHost(d.Stream, back.Data(), out); err != nil {
				return err
			}
			if err := d.Stream.Synchronize(); err != nil {
				return err
			}
			if got = selection.AppendHits(got[:0], back.Data()); !slices.Equal(got, want) {
				return fmt.Errorf("%v gives other hits than the CPU", method)
			}
			return nil
		}})
	}
	timings, err := lab.Compare(ctx, lab.Pick(env, 20, 1), variants...)
	if err != nil {
		return nil, err
	}
	for _, t := range timings {
		times = append(times, float64(t.Median.Nanoseconds())/1000)
	}
	return times, nil
}
