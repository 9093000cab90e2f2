package experiments

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/saat"
)

func saatFig2() lab.Experiment {
	return fig2("saat-fig2", "Total time by the number of threads", fig2Sample,
		"“No optimization” is the worst variant of Table 1, built like all others; saat-fig2-unoptimised has a program without the compiler's optimizations.",
		func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			return runSaatFig2(ctx, env, fig2Sample)
		})
}

func saatFig2Unoptimised() lab.Experiment {
	return fig2("saat-fig2-unoptimised", "Total time by the number of threads, without the compiler's optimizations", fig2Unoptimised,
		"The program is built with `go build -gcflags='all=-N -l'`. Kernels in assembly, which decode lists, stay as they are. "+
			"Half of saat-fig2's queries, because this build takes several times as long.",
		func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			if !unoptimised() {
				return leftFig2("This program was built with the compiler's optimizations: build it with -gcflags='all=-N -l'."), nil
			}
			return runSaatFig2(ctx, env, fig2Unoptimised)
		})
}

// fig2Size is how many queries are timed in how many rounds, after one that warms up.
type fig2Size struct{ queries, rounds int }

var (
	fig2Sample      = fig2Size{queries: 100, rounds: 3}
	fig2Unoptimised = fig2Size{queries: 50, rounds: 3}
)

func fig2(name, title string, size fig2Size, differs string, run func(context.Context, *lab.Env) (*lab.Result, error)) lab.Experiment {
	return lab.Experiment{
		Name: name, Paper: "saat", Shows: "Fig. 2", Title: title,
		Did: "The time of 20,000 queries with 1 to 4 threads, each taking the next query of a lock-free queue, with all optimizations and with none. " +
			"From 1 to 4 threads the time falls by 21 % with all, where 75 % could be expected: memory is the limit. With none, and on a slower processor " +
			"with faster memory, it falls by 72 %.",
		Ours: "The same with Griffin's engine on " +
			saatCollectionOnly + fmt.Sprint(size.queries) +
			" queries: the paper's best variant, its worst, and Griffin's default, with up to 16 threads; " + size.shown() + ". " +
			"The second table has the bytes that the queries read from lists and accumulators, in a cache or not, beside the memory " +
			"bandwidth of the same number of threads, measured in the same run.",
		Differs: differs + " The paper prints a figure: its reductions are from the text. " +
			saatQueries,
		Verdicts: saatFig2Verdicts,
		Budget:   5 * time.Minute,
		Run:      run,
	}
}

func (s fig2Size) shown() string {
	return fmt.Sprintf("the minimum of %d rounds after a warm-up", s.rounds)
}

// unoptimised reports whether the program was built without the compiler's optimizations.
func unoptimised() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-gcflags" && strings.Contains(s.Value, "-N")
	})
}

// fig2Threads are the rows; the paper has the first four.
var fig2Threads = []int{1, 2, 3, 4, 6, 8, 12, 16}

// fig2Kinds are the variants, with the paper's reduction from one thread to four, 0 for none.
var fig2Kinds = []struct {
	name      string
	variant   saat.Variant
	reduction float64 // per cent
}{
	{"all optimizations", saat.Variant{Accumulators: saat.PagedArray, Heap: 2}, 21},
	{"none", saat.Variant{Accumulators: saat.Paged, Heap: 1, Outlined: true}, 72},
	{"windowed", saat.Variant{}, 0},
}

// fig2Tables returns the tables of times and of traffic.
func fig2Tables() (times, traffic *lab.Table) {
	var rows, timeColumns, trafficColumns []string
	for _, n := range fig2Threads {
		rows = append(rows, fmt.Sprint(n))
	}
	for _, k := range fig2Kinds {
		timeColumns = append(timeColumns, k.name+", s", "reduction, %")
		trafficColumns = append(trafficColumns, k.name+", GB/s")
	}
	times = lab.NewTable("Time of all queries; a linear speed-up would be a reduction by 50 % with 2 threads and 75 % with 4", "threads", rows, timeColumns)
	for i, k := range fig2Kinds {
		if k.reduction > 0 {
			times.SetPaper(slices.Index(fig2Threads, 4), 2*i+1, k.reduction)
		}
	}
	return times, lab.NewTable("Bytes read from lists and accumulators, and the memory bandwidth", "threads", rows, append(trafficColumns, "memory, GB/s"))
}

// leftFig2 has no measurements.
func leftFig2(reason string) *lab.Result {
	times, traffic := fig2Tables()
	for row := range times.Rows {
		times.LeaveRow(row, reason)
		traffic.LeaveRow(row, reason)
	}
	return &lab.Result{Tables: []*lab.Table{times, traffic}}
}

// fig2Bytes is the number of bytes that each thread reads to measure the bandwidth: several times
// its share of a cache.
const fig2Bytes = 64 << 20

func runSaatFig2(ctx context.Context, env *lab.Env, size fig2Size) (*lab.Result, error) {
	queries, err := impactQueries(ctx, env, lab.Pick(env, size.queries, 20))
	if err != nil {
		return nil, err
	}
	times, traffic := fig2Tables()
	figure := &lab.Figure{Title: "Total time by threads", Kind: lab.Lines, X: "threads", Y: "seconds"}
	cores := runtime.GOMAXPROCS(0)
	for i, k := range fig2Kinds {
		runs, err := fig2Runs(k.variant, queries, cores)
		if err != nil {
			return nil, err
		}
		timings, err := lab.Compare(ctx, lab.Pick(env, size.rounds, 1), fig2Variants(ctx, runs)...)
		if err != nil {
			return nil, err
		}
		measured, expected := lab.Series{Name: k.name}, lab.Series{Name: k.name + ", expected", Paper: true}
		for row, r := range runs {
			alone, s := timings[0].Min.Seconds(), timings[row].Min.Seconds()
			times.Set(row, 2*i, s)
			times.Set(row, 2*i+1, 100*(1-s/alone))
			traffic.Set(row, i, float64(r.traffic)/s/1e9)
			measured.Points = append(measured.Points, lab.Point{X: float64(r.threads), Y: s})
			expected.Points = append(expected.Points, lab.Point{X: float64(r.threads), Y: alone / float64(r.threads)})
		}
		figure.Series = append(figure.Series, measured, expected)
	}
	for row, n := range fig2Threads {
		if n > cores {
			reason := fmt.Sprintf("This machine has %d cores.", cores)
			times.LeaveRow(row, reason)
			traffic.LeaveRow(row, reason)
			continue
		}
		traffic.Set(row, len(fig2Kinds), saat.Bandwidth(n, lab.Pick(env, fig2Bytes, 1<<20))/1e9)
	}
	return &lab.Result{Tables: []*lab.Table{times, traffic}, Figures: []*lab.Figure{figure}}, nil
}

// fig2Run answers all queries with some threads.
type fig2Run struct {
	threads int
	batch   saat.Batch
	traffic int64 // of a run
}

func fig2Runs(v saat.Variant, queries []saat.Query, cores int) (runs []*fig2Run, err error) {
	for _, n := range fig2Threads {
		if n > cores {
			break
		}
		r := &fig2Run{threads: n, batch: saat.Batch{Queries: queries, Engines: make([]*saat.Engine, n)}}
		for i := range r.batch.Engines {
			if r.batch.Engines[i], err = saat.New(v); err != nil {
				return nil, err
			}
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func fig2Variants(ctx context.Context, runs []*fig2Run) (variants []lab.Variant) {
	for _, r := range runs {
		variants = append(variants, lab.Variant{Do: func() error {
			result, err := r.batch.Run(ctx)
			r.traffic = result.Traffic
			return err
		}})
	}
	return variants
}
