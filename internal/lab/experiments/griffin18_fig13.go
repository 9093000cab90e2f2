package experiments

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Fig13() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig13", Paper: "griffin18", Shows: "Fig. 13", Title: "Intersection of lists of comparable length",
		Did: "Pairs of lists of 1 K to 10 M elements, lengths that differ by a factor of less than 16: the time to " +
			"intersect them by merging and by binary search, on CPU and GPU. On the CPU merging is faster. The " +
			"GPU's merge is up to 87 times as fast as the CPU's, its binary search up to 102 times, and its merge" +
			" up to 2.29 times as fast as its binary search.",
		Ours: "Pairs of lists of a collection similar to the paper's part of ClueWeb12 closest to each length, uncompressed. On one " +
			"core: a plain merge, a binary search in the longer list for each element of the shorter, and " +
			"galloping; minima of 5 rounds after a warm-up, by wall clock. On the GPU: MergePath, the plain binary search (a parallel merge find without splitters)," +
			" and our search, whose upper levels are in shared memory; minima of 5 rounds by device events, from and to device memory, without transfers. " +
			"The sizes of all intersections are compared. The last row has the greatest ratios of the rows above, next to the paper's, which are \"up to\". " +
			"The second table has lists of different lengths. Whole queries with transfers are in griffin18-fig8.",
		Differs: "The paper prints a figure without numbers and does not state whether times include decompression or transfers. " +
			"Galloping is not in the paper. Up to 39 pairs per group, and 5 of lists of 10 M elements. The GPU is faster, relative to its CPU, than the paper's.",
		Findings: fig13Findings, Verdicts: fig13Verdicts,
		Budget: 4 * time.Minute,
		Run:    runGriffin18Fig13,
	}
}

func runGriffin18Fig13(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := griffin18Log(ctx, env)
	if err != nil {
		return nil, err
	}
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	rows := append(fig12Rows(), "greatest")
	methods := []struct {
		name string
		do   func(dst, short, long []uint32) []uint32
	}{
		{"merge, CPU", mergeIntersect}, {"binary search, CPU", binaryIntersect}, {"galloping, CPU", gallopIntersect},
	}
	columns := []string{"mean length"}
	for _, m := range methods {
		columns = append(columns, m.name)
	}
	device, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	t := lab.NewTable("Time of an intersection, µs", "elements", rows,
		append(columns, "binary to merge", "MergePath, GPU", "binary search, GPU", "Griffin's search, GPU", "GPU, binary to MergePath", "merge, CPU to MergePath", "binary, CPU to GPU"))
	gpu := []lab.Series{{Name: "MergePath, GPU"}, {Name: "binary search, GPU"}, {Name: "Griffin's search, GPU"}}
	figure := &lab.Figure{Title: "Time of an intersection", Kind: lab.Lines, LogX: true, LogY: true, X: "elements of a list", Y: "time, µs"}
	figure.Series = make([]lab.Series, len(methods))
	for row, l := range fig12Lengths {
		env.Progress("intersect", row, len(fig12Lengths))
		lists, err := nearestLists(c, terms, l.n, lab.Pick(env, max(6, min(40, 20_000_000/l.n)), 4))
		if err != nil {
			return nil, err
		}
		if len(lists) < 2 { // a single list is intersected with itself
			lists = append(lists, lists[0])
		}
		times, err := intersectTimes(ctx, lists, lab.Pick(env, 5, 1), func(i int) func(dst, short, long []uint32) []uint32 { return methods[i].do }, len(methods))
		if err != nil {
			return nil, err
		}
		mean := float64(count(lists)) / float64(len(lists))
		t.Set(row, 0, mean)
		for i, us := range times {
			t.Set(row, 1+i, us)
			figure.Series[i].Name = methods[i].name
			figure.Series[i].Points = append(figure.Series[i].Points, lab.Point{X: mean, Y: us})
		}
		t.Set(row, 4, times[1]/times[0])
		if device == nil {
			for column := 5; column < len(t.Columns); column++ {
				t.Leave(row, column, noDevice)
			}
			continue
		}
		onDevice, err := deviceIntersectTimes(ctx, env, device, pairsOf(lists))
		if err != nil {
			return nil, err
		}
		for i, us := range onDevice {
			t.Set(row, 5+i, us)
			gpu[i].Points = append(gpu[i].Points, lab.Point{X: mean, Y: us})
		}
		t.Set(row, 8, onDevice[1]/onDevice[0])
		t.Set(row, 9, times[0]/onDevice[0])
		t.Set(row, 10, times[1]/onDevice[1])
	}
	greatestRow(t, map[int]float64{4: 0, 8: 2.29, 9: 87.35, 10: 102}, noDevice)
	figures := []*lab.Figure{figure}
	if device != nil {
		figure.Series = append(figure.Series, gpu...)
		figures = append(figures, fig13Speeds(t))
	}
	return fig13Result(ctx, env, device, noDevice, t, figures)
}

// fig13Result adds the comparison of ratios.
func fig13Result(ctx context.Context, env *lab.Env, device *lab.Device, noDevice string, t *lab.Table, figures []*lab.Figure) (*lab.Result, error) {
	ratios, crossing, err := deviceRatios(ctx, env, device, noDevice)
	if err != nil {
		return nil, err
	}
	r := &lab.Result{Tables: []*lab.Table{t, ratios}, Figures: figures}
	if crossing != nil {
		r.Figures = append(r.Figures, crossing)
	}
	return r, nil
}

// greatestRow fills the last row with the greatest ratios of the given columns,
// and the paper's; 0: none.
func greatestRow(t *lab.Table, papers map[int]float64, noDevice string) {
	last := len(t.Rows) - 1
	for column := range t.Columns {
		paper, ratio := papers[column]
		if !ratio {
			t.Leave(last, column, "Not a ratio.")
			continue
		}
		if paper > 0 {
			t.SetPaper(last, column, paper)
		}
		greatest := 0.0
		for _, row := range t.Cells[:last] {
			if ours := row[column].Ours; ours != nil {
				greatest = max(greatest, *ours)
			}
		}
		setIf(t, last, column, greatest, greatest > 0, noDevice)
	}
}

// fig13Speeds draws the ratios with the paper's greatest ones.
func fig13Speeds(t *lab.Table) *lab.Figure {
	f := &lab.Figure{Title: "Speed-ups of intersections", Kind: lab.Bars, LogY: true, X: "elements", Y: "times", Categories: t.Rows[:len(t.Rows)-1]}
	for column := 8; column < len(t.Columns); column++ {
		points := columnOf(t, column)
		f.Series = append(f.Series, lab.Series{Name: t.Columns[column], Points: points[:len(points)-1]})
		paper := *t.Cells[len(t.Rows)-1][column].Paper
		f.Series = append(f.Series, lab.Series{Name: t.Columns[column] + ", the paper: up to", Paper: true, Points: lab.Heights(slices.Repeat([]float64{paper}, len(t.Rows)-1)...)})
	}
	return f
}

// Mean microseconds to intersect each list with the next one, by method.
func intersectTimes(ctx context.Context, lists [][]uint32, rounds int, method func(i int) func(dst, short, long []uint32) []uint32, methods int) ([]float64, error) {
	longest := 0
	for _, l := range lists {
		longest = max(longest, len(l))
	}
	repeat := max(1, 1_000_000/max(1, count(lists)))
	found := make([]int, methods)
	var variants []lab.Variant
	for i := range methods {
		do, dst := method(i), make([]uint32, 0, longest)
		variants = append(variants, lab.Variant{Do: func() error {
			found[i] = 0
			for range repeat {
				for j := range lists[1:] {
					short, long := lists[j], lists[j+1]
					if len(short) > len(long) {
						short, long = long, short
					}
					found[i] += len(do(dst[:0], short, long))
				}
			}
			return nil
		}})
	}
	timings, err := lab.Compare(ctx, rounds, variants...)
	if err != nil {
		return nil, err
	}
	times := make([]float64, methods)
	for i, t := range timings {
		if found[i] != found[0] {
			return nil, errors.New("two methods intersect lists to different lengths")
		}
		times[i] = t.Per(repeat*(len(lists)-1)) / 1000
	}
	return times, nil
}

func mergeIntersect(dst, a, b []uint32) []uint32 {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch x, y := a[i], b[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			dst = append(dst, x)
			i++
			j++
		}
	}
	return dst
}

// binaryIntersect searches all of long for each element of short.
func binaryIntersect(dst, short, long []uint32) []uint32 {
	for _, x := range short {
		if at := contraction.Binary(long, 0, len(long), x); at < len(long) && long[at] == x {
			dst = append(dst, x)
		}
	}
	return dst
}

// gallopIntersect doubles the step from the last position until the element is
// passed.
func gallopIntersect(dst, short, long []uint32) []uint32 {
	from := 0
	for _, x := range short {
		step := 1
		for from+step < len(long) && long[from+step] < x {
			step *= 2
		}
		from = contraction.Binary(long, from+step/2, min(len(long), from+step+1), x)
		if from == len(long) {
			break
		}
		if long[from] == x {
			dst = append(dst, x)
		}
	}
	return dst
}
