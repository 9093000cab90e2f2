package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/lab"
)

// PARA by the computational threshold: Figs. 5, 6 and 9 (b), and Table 7 of
// ao11.

const paraDiffers = "The paper's numbers are in a figure; its GPU is a GeForce GTX 480. Gathering, copies and kernels run sequentially, as in the paper; "

// In elements of shortest lists per batch.
func ao11Thresholds(env *lab.Env) []int {
	return lab.Pick(env, []int{8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20}, []int{1 << 10, 16 << 10})
}

func paraQueryCount(env *lab.Env) int { return lab.Pick(env, 6000, 20) }

func ao11Fig5() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig5", Paper: "ao11", Shows: "Fig. 5", Title: "Throughput of PARA by computational threshold",
		Did: "Queries per second on GOV with uncompressed lists, by the number of elements per batch. At a " +
			"threshold of 1M, HS16 reaches 91,382, 60 % more than binary search.",
		Ours: ao11Ours +
			" 6,000 queries with 2 or more terms, lists in device memory, results copied to host memory; hash " +
			"segmentation also with bitmaps for lists with at least a 64th of all documents.",
		Differs: paraDiffers +
			"the figure also has interpolation search, from the paper's Table 3.",
		Budget: 4 * time.Minute,
		Run: func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			r, err := paraByThreshold(ctx, env, "Queries a second", uncompressedWays(), (*paraRun).throughput)
			if err == nil {
				last := len(r.Tables[0].Rows) - 2 // 1M
				for column, name := range r.Tables[0].Columns {
					if name == "HS16" {
						r.Tables[0].SetPaper(last, column, 91_382)
					}
				}
			}
			return r, err
		},
	}
}

func ao11Fig6() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig6", Paper: "ao11", Shows: "Fig. 6", Title: "Response time of PARA by computational threshold",
		Did: "Milliseconds per batch on GOV with uncompressed lists: CPU, transfers and GPU. Up to 128K the " +
			"searches do not differ.",
		Ours: ao11Ours +
			" 6,000 queries with 2 or more terms, lists in device memory, results copied to host memory.",
		Differs: paraDiffers +
			"as in the paper, the time that a query waits for its batch to fill is excluded.",
		Budget: 4 * time.Minute,
		Run: func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			return paraByThreshold(ctx, env, "Milliseconds a batch", uncompressedWays(), (*paraRun).response)
		},
	}
}

func ao11Fig9b() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig9b", Paper: "ao11", Shows: "Fig. 9 (b)", Title: "Share of GPU time by computational threshold",
		Did: "The GPU's share of the total time for HS16 and HS256_LRC on GOV. It rises with the threshold; " +
			"transfers and the CPU always take more than 20 %.",
		Ours: ao11Ours +
			" 6,000 queries with 2 or more terms.",
		Differs: paraDiffers +
			"Fig. 9 (a), by the number of multiprocessors, would require another firmware of the card.",
		Budget: 4 * time.Minute,
		Run: func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			return paraByThreshold(ctx, env, "Share of the GPU's time", []string{"HS16", "HS256_LRC"}, (*paraRun).share)
		},
	}
}

func uncompressedWays() []string {
	var names []string
	for _, w := range paraWays {
		if w.spec == "" {
			names = append(names, w.name)
		}
	}
	return names
}

func paraByThreshold(ctx context.Context, env *lab.Env, title string, ways []string, number func(*paraRun) float64) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	var rows []string
	thresholds := ao11Thresholds(env)
	for _, t := range thresholds {
		rows = append(rows, fmt.Sprintf("%dK", t>>10))
	}
	t := lab.NewTable(title, "threshold", rows, ways)
	r := &lab.Result{Tables: []*lab.Table{t}}
	if d == nil {
		for row := range rows {
			t.LeaveRow(row, noDevice)
		}
		return r, nil
	}
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	asked, err := askedOf(c, queries, paraQueryCount(env))
	if err != nil {
		return nil, err
	}
	figure := &lab.Figure{Title: title, Kind: lab.Lines, LogX: true, X: "threshold, elements", Y: title}
	found := -1
	for column, name := range ways {
		env.Progress(name, column, len(ways))
		w, _ := paraWayOf(name)
		runs, err := runWay(ctx, env, d, w, asked, c.NumDocs(), thresholds...)
		if err != nil {
			return nil, err
		}
		series := lab.Series{Name: name}
		for row := range runs {
			if found < 0 {
				found = runs[row].found
			}
			if runs[row].found != found {
				return nil, fmt.Errorf("%s finds %d documents, others %d", name, runs[row].found, found)
			}
			v := number(&runs[row])
			t.Set(row, column, v)
			series.Points = append(series.Points, lab.Point{X: float64(thresholds[row]), Y: v})
		}
		figure.Series = append(figure.Series, series)
	}
	r.Figures = []*lab.Figure{figure}
	return r, nil
}

func ao11Table7() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-table7", Paper: "ao11", Shows: "Table 7", Title: "Throughput and response time on compressed lists",
		Did: "PARA on compressed lists at a computational threshold of 1M: queries per second (TP) and " +
			"milliseconds per batch (RT). HS256_LRC is best, with 55,955 queries per second on GOV.",
		Ours: ao11Ours +
			" 6,000 queries with 2 or more terms; the shortest list is also decoded element by element.",
		Differs: "The paper's GPU is a GeForce GTX 480. ParaPFD lists cannot be searched without decoding, and our " +
			"PARA does not decode blocks; their speed is in ao11-fig8.",
		Budget: 4 * time.Minute,
		Run:    runAo11Table7,
	}
}

// The paper's TP and RT for GOV, GOVPR, GOVR, BD and BDR in turn.
var ao11Table7Rows = []struct {
	name, way string
	paper     []float64
}{
	{"ParaPFD (0.2)", "", []float64{15879, 7.66, 16069, 7.57, 15587, 7.81, 58937, 4.71, 53952, 5.15}},
	{"ParaPFD (0.0)", "", []float64{22998, 5.29, 23302, 5.22, 22639, 5.38, 86000, 3.23, 78338, 3.55}},
	{"LRC", "LRC", []float64{42336, 2.88, 41905, 2.90, 43034, 2.83, 160570, 1.73, 160898, 1.73}},
	{"LRCSeg", "LRCSeg", []float64{42347, 2.88, 41862, 2.91, 43078, 2.83, 160958, 1.73, 160338, 1.73}},
	{"SegLRC", "SegLRC", []float64{47335, 2.57, 46054, 2.64, 48078, 2.50, 164903, 1.68, 176134, 1.58}},
	{"HS256_LRC", "HS256_LRC", []float64{55955, 2.18, 55315, 2.20, 55735, 2.18, 191120, 1.45, 195520, 1.42}},
}

func runAo11Table7(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	var rows, columns []string
	for _, r := range ao11Table7Rows {
		rows = append(rows, r.name)
	}
	for _, c := range append(ao11Names()[:ao11GOVs], "BD", "BDR") {
		columns = append(columns, c+" TP", c+" RT")
	}
	t := lab.NewTable("Queries a second (TP) and milliseconds a batch (RT)", "lists", rows, columns)
	for row, r := range ao11Table7Rows {
		t.SetPapers(row, r.paper...)
		for column := range columns {
			switch {
			case column >= 2*ao11GOVs:
				t.Leave(row, column, noBaidu)
			case r.way == "":
				t.Leave(row, column, "PARA searches lists element by element, which ParaPFD does not allow.")
			case d == nil:
				t.Leave(row, column, noDevice)
			}
		}
	}
	if d == nil {
		return &lab.Result{Tables: []*lab.Table{t}}, nil
	}
	for i, of := range ao11Collections[:ao11GOVs] {
		env.Progress(of.name, i, ao11GOVs)
		c, queries, err := of.open(ctx, env)
		if err != nil {
			return nil, err
		}
		asked, err := askedOf(c, queries, paraQueryCount(env))
		if err != nil {
			return nil, err
		}
		for row, r := range ao11Table7Rows {
			w, ok := paraWayOf(r.way)
			if !ok {
				continue
			}
			runs, err := runWay(ctx, env, d, w, asked, c.NumDocs(), lab.Pick(env, 1<<20, 1<<10))
			if err != nil {
				return nil, err
			}
			t.Set(row, 2*i, runs[0].throughput())
			t.Set(row, 2*i+1, runs[0].response())
		}
	}
	return &lab.Result{Tables: []*lab.Table{t}}, nil
}
