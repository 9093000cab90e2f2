package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/para"
)

func ao11Fig9a() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig9a", Paper: "ao11", Shows: "Fig. 9 (a)", Title: "Speed-up by the number of multiprocessors",
		Did: "HS16 and HS256_LRC on GOV at a computational threshold of 1M, with 1 to 15 of the 15 multiprocessors of the GPU; the others were disabled in its firmware. " +
			"The speed-up is almost proportional to their number, and the efficiency decreases slightly.",
		Ours: ao11Ours + " The kernels run on a part of the GPU's multiprocessors (a green context): a fifteenth to fifteen fifteenths, rounded to a multiple of 8. 8 batches of a million elements of the 2006 log run one after the other: the device time of the kernels, " +
			"search with scan and counts, the median of 5 rounds after a warm-up. All DocIDs are compared with the CPU's before.",
		Differs: paraDiffers + "The paper prints the figure without numbers; the grey line is proportional. The L2 cache and the memory are undivided, as with the paper's firmware, so that few multiprocessors have more of both each. " +
			"That can only make the speed-up smaller than proportional. The paper measures the whole system; this is the kernels.",
		Verdicts: ao11Fig9aVerdicts,
		Budget:   5 * time.Minute,
		Run:      runAo11Fig9a,
	}
}

// The number of multiprocessors of the paper's GPU.
const ao11Steps = 15

var ao11Scaled = []string{"HS16", "HS256_LRC"}

func runAo11Fig9a(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	var rows, columns []string
	for k := range ao11Steps {
		rows = append(rows, fmt.Sprintf("%d/%d", k+1, ao11Steps))
	}
	for _, name := range ao11Scaled {
		columns = append(columns, name+": speed-up", name+": efficiency", name+": ms a batch")
	}
	t := lab.NewTable("Speed-up by the share of multiprocessors", "share", rows, append([]string{"multiprocessors"}, columns...))
	r := &lab.Result{Tables: []*lab.Table{t}}
	leave := func(reason string) *lab.Result {
		for row := range rows {
			t.LeaveRow(row, reason)
		}
		return r
	}
	if d == nil {
		return leave(noDevice), nil
	}
	if n := d.Info().Multiprocessors; n < ao11Steps && !env.Quick {
		return leave(fmt.Sprintf("The GPU has %d multiprocessors only.", n)), nil
	}
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	q, err := ao11Asked(ctx, env, "GOV", c, queries)
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(d)
	if err != nil {
		return leave(fmt.Sprintf("The GPU cannot be divided: %v.", err)), nil
	}
	var times [][]time.Duration
	for i, name := range ao11Scaled {
		env.Progress("multiprocessors of "+name, i, len(ao11Scaled))
		var of []time.Duration
		if of, err = scaledTimes(ctx, env, parts, paraWayOf(name), q); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			break
		}
		times = append(times, of)
	}
	var counts []int
	for _, p := range parts.parts {
		counts = append(counts, p.part.Multiprocessors())
	}
	if err = errors.Join(err, parts.free()); err != nil {
		return nil, err
	}
	r.Figures = []*lab.Figure{fillFig9a(t, counts, times)}
	return r, nil
}

// fillFig9a fills the table with multiprocessors by row and times by method, then row, and returns the figure.
func fillFig9a(t *lab.Table, counts []int, times [][]time.Duration) *lab.Figure {
	figure := &lab.Figure{Title: "Speed-up by the number of multiprocessors", Kind: lab.Lines, X: "multiprocessors", Y: "speed-up over a fifteenth of them"}
	proportional := lab.Series{Name: "paper: about proportional", Paper: true}
	for i, name := range ao11Scaled {
		series := lab.Series{Name: name}
		for row, took := range times[i] {
			n, least := counts[row], counts[0]
			speedup := times[i][0].Seconds() / took.Seconds()
			t.Set(row, 0, float64(n))
			t.Set(row, 3*i+1, speedup)
			t.Set(row, 3*i+2, speedup*float64(least)/float64(n))
			t.Set(row, 3*i+3, took.Seconds()*1000)
			series.Points = append(series.Points, lab.Point{X: float64(n), Y: speedup})
			if i == 0 {
				proportional.Points = append(proportional.Points, lab.Point{X: float64(n), Y: float64(n) / float64(least)})
			}
		}
		figure.Series = append(figure.Series, series)
	}
	figure.Series = append(figure.Series, proportional)
	return figure
}

// separable is the number of multiprocessors by which a GPU of compute capability 9.0 can be divided.
const separable = 8

// multiprocessorsOf returns the multiprocessors of a row, rounded to parts that the GPU can separate.
func multiprocessorsOf(row, all int) int {
	if row == ao11Steps-1 {
		return all
	}
	parts := (row + 1) * all / (ao11Steps * separable / 2) // halves, rounded down
	return min(max(1, (parts+1)/2)*separable, all)
}

// divided has a part of the GPU for each row.
type divided struct {
	deviceMemory
	parts []devicePart
}

type devicePart struct {
	part *cuda.Part
	on   *lab.Device
}

func partsOf(d *lab.Device) (*divided, error) {
	all := &divided{deviceMemory: deviceMemory{device: d}}
	for row := range ao11Steps {
		p, err := d.NewPart(multiprocessorsOf(row, d.Info().Multiprocessors))
		if err != nil {
			return nil, errors.Join(err, all.free())
		}
		all.frees = append(all.frees, p.Close)
		s, err := p.NewStream()
		if err != nil {
			return nil, errors.Join(err, all.free())
		}
		all.frees = append(all.frees, s.Close)
		all.parts = append(all.parts, devicePart{p, d.On(s)})
	}
	return all, nil
}

// scaledTimes returns the mean device time of a batch by row.
func scaledTimes(ctx context.Context, env *lab.Env, all *divided, w *paraWay, q *paraQueries) (times []time.Duration, err error) {
	m, err := newParaBench(all.device, q)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.free()) }()
	l, err := newParaLists(ctx, all.device, w, q)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, l.free)
	batches, err := m.firstBatches(l, ao11Million(env), 8)
	if err != nil {
		return nil, err
	}
	for _, p := range all.parts {
		t, err := p.on.Time(ctx, lab.Pick(env, 5, 1), 1, func() error {
			for _, b := range batches {
				if err := b.Launch(p.on.Stream); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%d multiprocessors: %w", p.part.Multiprocessors(), err)
		}
		times = append(times, t.Median/time.Duration(len(batches)))
	}
	return times, nil
}

// firstBatches returns batches of the first queries that have run and were checked. They only count, so that their results
// do not cross the bus.
func (m *paraBench) firstBatches(l *paraLists, threshold, n int) (batches []*para.Batch, err error) {
	checked, err := m.kernels.NewBatch(l.way.options(threshold, false))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, checked.Close()) }()
	first := 0
	for len(batches) < n && first < len(m.queries.queries) {
		b, err := m.kernels.NewBatch(l.way.options(threshold, true))
		if err != nil {
			return nil, err
		}
		m.frees = append(m.frees, b.Close)
		next := first
		for ; next < len(m.queries.queries) && !b.Full(); next++ {
			if err := errors.Join(l.add(b, m.queries.queries[next]), l.add(checked, m.queries.queries[next])); err != nil {
				return nil, err
			}
		}
		if err := errors.Join(l.run(checked), l.run(b)); err != nil {
			return nil, err
		}
		if err := m.check(checked, first); err != nil {
			return nil, err
		}
		checked.Reset()
		batches = append(batches, b)
		first = next
	}
	return batches, nil
}
