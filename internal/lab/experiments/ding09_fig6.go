package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func ding09Fig6() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-fig6", Paper: "ding09", Shows: "Fig. 6", Title: "Intersection on the GPU by levels of recursion",
		Did: "Two uncompressed lists of the same length, from 5,000 to 16 million: nanoseconds per element of one " +
			"list, for one binary search per element and for 1 to 4 levels of splitters. With two or three levels" +
			" it is below 4 ns for long lists. With the shorter list at 200,000 and the longer one up to 12.8 " +
			"million it rises from 4 to 15 ns.",
		Ours: "Two random lists of numbers below eight times their length, on the GPU, compared with MergePath; and" +
			" the shorter list at 200,000. Device times, minima of 5 repetitions of up to 50 intersections after a warm-up; lists are in device memory. The number of matches is compared with a merge on the CPU.",
		Differs: "The paper prints a figure without numbers, from a GeForce 8800 GTS; its stated bounds are in the cells and lines in the figures: below 4 ns for two or three levels, 4 to 15 ns with unequal lengths. " +
			"The paper does not describe the distribution of the lists. Our times include the compaction of matches. Direction: one level is best here from a million elements on, and none below; " +
			"in the paper it is two or three. A level costs a launch and a pass, and saves reads of distant memory; today's second-level cache of tens of megabytes probably serves these reads, " +
			"so one level is enough.",
		Verdicts: ding09Fig6Verdicts,
		Budget:   3 * time.Minute,
		Run:      runDing09Fig6,
	}
}

const mostLevels = 4

// The paper's bound for long lists of the same length, and the end of the range for unequal lengths.
const ding09Nanoseconds, ding09NanosecondsUnlike = 4, 15

func runDing09Fig6(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	device, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	lengths := lab.Pick(env, []int{5_000, 16_000, 64_000, 250_000, 1_000_000, 4_000_000, 16_000_000}, []int{1_000, 5_000})
	longer := lab.Pick(env, []int{200_000, 400_000, 800_000, 1_600_000, 3_200_000, 6_400_000, 12_800_000}, []int{1_000, 4_000})
	same, sameFigure, err := levelsTable(ctx, env, device, noDevice, "Nanoseconds an element of one list, both of the same length", "length", lengths,
		func(n int) (int, int) { return n, n })
	if err != nil {
		return nil, err
	}
	unlike, unlikeFigure, err := levelsTable(ctx, env, device, noDevice,
		fmt.Sprintf("Nanoseconds an element of the shorter list, of %d", longer[0]), "length of the longer list", longer,
		func(n int) (int, int) { return longer[0], n })
	if err != nil {
		return nil, err
	}
	for levels := 2; levels <= 3; levels++ {
		same.SetPaper(len(lengths)-1, levels, ding09Nanoseconds)
	}
	unlike.SetPaper(0, 3, ding09Nanoseconds)
	unlike.SetPaper(len(longer)-1, 3, ding09NanosecondsUnlike)
	r := &lab.Result{Tables: []*lab.Table{same, unlike}}
	if device != nil {
		along := sameFigure.Series[0].Points
		sameFigure.Series = append(sameFigure.Series, paperLevel("the paper: below 4 ns, long lists", along, ding09Nanoseconds))
		along = unlikeFigure.Series[0].Points
		unlikeFigure.Series = append(unlikeFigure.Series, lab.Series{Name: "the paper: 4 to 15 ns", Paper: true, Points: []lab.Point{
			{X: along[0].X, Y: ding09Nanoseconds}, {X: along[len(along)-1].X, Y: ding09NanosecondsUnlike},
		}})
		r.Figures = []*lab.Figure{sameFigure, unlikeFigure}
	}
	return r, nil
}

// levelsTable: the lengths of lists depend on the row.
func levelsTable(ctx context.Context, env *lab.Env, d *lab.Device, noDevice, title, head string, sizes []int, lengths func(int) (short, long int)) (*lab.Table, *lab.Figure, error) {
	var rows, columns []string
	for _, n := range sizes {
		rows = append(rows, fmt.Sprint(n))
	}
	var methods []intersectMethod
	for levels := range mostLevels + 1 {
		columns = append(columns, fmt.Sprintf("%d levels", levels))
		methods = append(methods, byMergeFind(levels))
	}
	columns, methods = append(columns, "MergePath"), append(methods, byMergePath)
	t := lab.NewTable(title, head, rows, columns)
	figure := &lab.Figure{Title: title, Kind: lab.Lines, LogX: true, LogY: true, X: head, Y: "ns", Series: make([]lab.Series, len(columns))}
	rng := rand.New(rand.NewPCG(env.Seed, 6))
	for row, n := range sizes {
		env.Progress(head, row, len(sizes))
		if d == nil {
			t.LeaveRow(row, noDevice)
			continue
		}
		short, long := lengths(n)
		pair := [2][]uint32{randomList(rng, short, 8*long), randomList(rng, long, 8*long)}
		p, err := newDevicePairs(d, [][2][]uint32{pair})
		if err != nil {
			return nil, nil, err
		}
		for i, do := range methods {
			us, err := p.time(ctx, env, do)
			if err != nil {
				return nil, nil, errors.Join(fmt.Errorf("%s: %w", columns[i], err), p.free())
			}
			ns := us * 1000 / float64(short)
			t.Set(row, i, ns)
			figure.Series[i].Name = columns[i]
			figure.Series[i].Points = append(figure.Series[i].Points, lab.Point{X: float64(n), Y: ns})
		}
		if err := p.free(); err != nil {
			return nil, nil, err
		}
	}
	return t, figure, nil
}
