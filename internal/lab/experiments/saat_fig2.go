package experiments

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/saat"
)

func saatFig2() lab.Experiment {
	return lab.Experiment{
		Name: "saat-fig2", Paper: "saat", Shows: "Fig. 2", Title: "Total time by the number of threads",
		Did: "The time of 20,000 queries with 1 to 4 threads, each taking the next query of a lock-free queue, with all optimizations and with none. " +
			"From 1 to 4 threads the time falls by 21 % with all, where 75 % could be expected: memory is the limit. With none, and on a slower processor " +
			"with faster memory, it falls by 72 %.",
		Ours: "The same with Griffin's engine on " +
			saatCollection +
			": the paper's best variant, its worst, and Griffin's default, with up to one thread per core; the " +
			"minimum of three rounds.",
		Differs: "“No optimization” is the worst variant of Table 1; the compiler's optimizations stay on. The paper " +
			"prints a figure: its reductions are from the text. " +
			saatQueries,
		Budget: 5 * time.Minute,
		Run:    runSaatFig2,
	}
}

// Number of rows, the paper's maximum.
const fig2Threads = 4

func runSaatFig2(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	queries, err := impactQueries(ctx, env, lab.Pick(env, 60, 20))
	if err != nil {
		return nil, err
	}
	kinds := []struct {
		name    string
		variant saat.Variant
	}{
		{"all optimizations", saat.Variant{Accumulators: saat.PagedArray, Heap: 2}},
		{"none", saat.Variant{Accumulators: saat.Paged, Heap: 1, Outlined: true}},
		{"windowed", saat.Variant{}},
	}
	var rows, columns []string
	for n := 1; n <= fig2Threads; n++ {
		rows = append(rows, fmt.Sprint(n))
	}
	for _, k := range kinds {
		columns = append(columns, k.name+", s", "reduction, %")
	}
	t := lab.NewTable("Time of all queries; a linear speed-up would be a reduction by 50 % with 2 threads and 75 % with 4", "threads", rows, columns)
	t.SetPaper(fig2Threads-1, 1, 21)
	t.SetPaper(fig2Threads-1, 3, 72)
	figure := &lab.Figure{Title: "Total time by threads", Kind: lab.Lines, X: "threads", Y: "seconds"}
	cores := min(fig2Threads, runtime.GOMAXPROCS(0))
	for i, k := range kinds {
		var variants []lab.Variant
		for n := 1; n <= cores; n++ {
			run, err := threaded(ctx, k.variant, n, queries)
			if err != nil {
				return nil, err
			}
			variants = append(variants, lab.Variant{Do: run})
		}
		timings, err := lab.Compare(ctx, lab.Pick(env, 3, 1), variants...)
		if err != nil {
			return nil, err
		}
		measured, expected := lab.Series{Name: k.name}, lab.Series{Name: k.name + ", expected", Paper: true}
		for row := range rows {
			if row >= cores {
				reason := fmt.Sprintf("This machine has %d cores.", cores)
				t.Leave(row, 2*i, reason)
				t.Leave(row, 2*i+1, reason)
				continue
			}
			s := timings[row].Min.Seconds()
			t.Set(row, 2*i, s)
			t.Set(row, 2*i+1, 100*(1-s/timings[0].Min.Seconds()))
			measured.Points = append(measured.Points, lab.Point{X: float64(row + 1), Y: s})
			expected.Points = append(expected.Points, lab.Point{X: float64(row + 1), Y: timings[0].Min.Seconds() / float64(row+1)})
		}
		figure.Series = append(figure.Series, measured, expected)
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}}, nil
}

// threaded returns a function that answers all queries with n threads.
func threaded(ctx context.Context, v saat.Variant, n int, queries []saat.Query) (func() error, error) {
	batch := saat.Batch{Queries: queries, Engines: make([]*saat.Engine, n)}
	for i := range batch.Engines {
		var err error
		if batch.Engines[i], err = saat.New(v); err != nil {
			return nil, err
		}
	}
	return func() error {
		_, err := batch.Run(ctx)
		return err
	}, nil
}
