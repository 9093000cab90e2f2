package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/para"
)

func ao11Fig9a() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig9a", Paper: "ao11", Shows: "Fig. 9 (a)", Title: "Speed-up by the number of multiprocessors",
		Did: "HS16 and HS256_LRC on GOV at a computational threshold of 1M, with 1 to 15 of the 15 multiprocessors of the GPU; the others were disabled in its firmware. " +
			"The speed-up is almost proportional to their number, and the efficiency decreases slightly.",
		Ours: ao11Ours + " The number of multiprocessors is a fifteenth to fifteen fifteenths of the GPU's, rounded. Blocks of another kernel, each of which takes all shared memory of a multiprocessor, " +
			"occupy the others; a measurement counts only if they stayed there. 8 batches of a million elements of the 2006 log run one after the other: the device time of the kernels, " +
			"search with scan and counts, the median of 5 rounds after a warm-up. All DocIDs are compared with the CPU's before.",
		Differs: paraDiffers + "The paper prints the figure without numbers; the grey line is proportional. The L2 cache and the memory are undivided, as with the paper's firmware, so that few multiprocessors have more of both each. " +
			"That can only make the speed-up smaller than proportional. The paper measures the whole system; this is the kernels. " +
			"A speed-up above proportional has no explanation yet: the waiting blocks may slow the other multiprocessors down. Such a table does not show how the methods scale.",
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
	if n := d.Info().Multiprocessors; n < ao11Steps {
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
	h, err := newHolder(d)
	if err != nil {
		return leave(fmt.Sprintf("The GPU refuses the kernel that occupies multiprocessors: %v.", err)), nil
	}
	var times [][]time.Duration
	for i, name := range ao11Scaled {
		env.Progress("multiprocessors of "+name, i, len(ao11Scaled))
		var of []time.Duration
		if of, err = scaledTimes(ctx, env, h, paraWayOf(name), q); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			break
		}
		times = append(times, of)
	}
	err = errors.Join(err, h.free())
	if errors.Is(err, errNotHeld) {
		return leave(fmt.Sprintf("Multiprocessors could not be occupied: %v.", err)), nil
	}
	if err != nil {
		return nil, err
	}
	r.Figures = []*lab.Figure{fillFig9a(t, d.Info().Multiprocessors, times)}
	return r, nil
}

// fillFig9a fills the table with times by method, then row, and returns the figure.
func fillFig9a(t *lab.Table, all int, times [][]time.Duration) *lab.Figure {
	figure := &lab.Figure{Title: "Speed-up by the number of multiprocessors", Kind: lab.Lines, X: "multiprocessors", Y: "speed-up over a fifteenth of them"}
	proportional := lab.Series{Name: "paper: about proportional", Paper: true}
	for i, name := range ao11Scaled {
		series := lab.Series{Name: name}
		for row, took := range times[i] {
			n, least := multiprocessorsOf(row, all), multiprocessorsOf(0, all)
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

// multiprocessorsOf returns the multiprocessors of a row.
func multiprocessorsOf(row, all int) int { return max(1, ((row+1)*all+ao11Steps/2)/ao11Steps) }

// scaledTimes returns the mean device time of a batch by row.
func scaledTimes(ctx context.Context, env *lab.Env, h *holder, w *paraWay, q *paraQueries) (times []time.Duration, err error) {
	m, err := newParaBench(h.device, q)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.free()) }()
	l, err := newParaLists(ctx, h.device, w, q)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, l.free)
	batches, err := m.firstBatches(l, ao11Million(env), 8)
	if err != nil {
		return nil, err
	}
	all := h.device.Info().Multiprocessors
	for row := range ao11Steps {
		var t lab.Timing
		err := h.with(all-multiprocessorsOf(row, all), func() (err error) {
			t, err = h.device.Time(ctx, lab.Pick(env, 5, 1), 1, func() error {
				for _, b := range batches {
					if err := b.Launch(h.device.Stream); err != nil {
						return err
					}
				}
				return nil
			})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%d multiprocessors: %w", multiprocessorsOf(row, all), err)
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
