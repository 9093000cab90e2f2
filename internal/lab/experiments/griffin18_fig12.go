package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/simd"
)

func griffin18Fig12() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig12", Paper: "griffin18", Shows: "Fig. 12", Title: "Decompression time by length of list",
		Did: "About 7,000 lists of 1 K to 10 M elements, grouped by length: the mean time to decompress PForDelta " +
			"on the CPU, and EF on the GPU (Para-EF), whose speed-up is below 2 for lists of 1 K and 10 K and " +
			"from 11 to 29.6 for longer ones.",
		Ours: "Lists of a collection similar to ClueWeb12 closest to each length: PForDelta and EF on one core, to " +
			"DocIDs, from memory; Para-EF from and to device memory, list by list with a launch each, and all " +
			"lists of a group in one launch.",
		Differs: "The paper prints a figure without numbers. Up to 60 lists per group. EF on the CPU shows how much of" +
			" the speed-up is due to the code and how much to the processor. Our PForDelta on the CPU is far " +
			"faster than the paper's. The paper's speed-up is therefore compared with our speed-up over plain " +
			"PForDelta in pure Go, which resembles the paper's.",
		Budget: 2 * time.Minute,
		Run:    runGriffin18Fig12,
	}
}

var fig12Lengths = []struct {
	name string
	n    int
}{
	{"1 K", 1_000},
	{"10 K", 10_000},
	{"100 K", 100_000},
	{"1 M", 1_000_000},
	{"10 M", 10_000_000},
}

// nearestLists returns up to most lists with lengths closest to n, within a
// factor of 2.5 if possible.
func nearestLists(c *lab.Collection, terms []termLength, n, most int) ([][]uint32, error) {
	distance := func(t termLength) float64 {
		return max(float64(t.n)/float64(n), float64(n)/float64(t.n))
	}
	sorted := slices.Clone(terms)
	slices.SortStableFunc(sorted, func(a, b termLength) int { return cmp.Compare(distance(a), distance(b)) })
	var lists [][]uint32
	for i, t := range sorted[:min(most, len(sorted))] {
		if i > 0 && distance(t) > 2.5 {
			break
		}
		l, err := c.DocIDs(nil, t.term)
		if err != nil {
			return nil, err
		}
		lists = append(lists, l)
	}
	return lists, nil
}

func runGriffin18Fig12(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := clueweb(ctx, env)
	if err != nil {
		return nil, err
	}
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, l := range fig12Lengths {
		rows = append(rows, l.name)
	}
	device, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	t := lab.NewTable("Time to decompress a list, µs", "elements", rows,
		[]string{"mean length", "PForDelta, CPU", "PForDelta, CPU, pure Go", "EF, CPU", "PForDelta to EF", "Para-EF, GPU", "Para-EF, GPU, one launch", "speed-up", "speed-up, pure Go", "speed-up, one launch"})
	figure := &lab.Figure{Title: "Time to decompress a list", Kind: lab.Lines, LogX: true, LogY: true, X: "elements of the list", Y: "time, µs"}
	names := []string{"PForDelta, CPU", "EF, CPU"}
	series := make([]lab.Series, len(names))
	device12 := lab.Series{Name: "Para-EF, GPU"}
	for row, l := range fig12Lengths {
		env.Progress("decompress", row, len(fig12Lengths))
		lists, err := nearestLists(c, terms, l.n, lab.Pick(env, max(2, min(60, 20_000_000/l.n)), 4))
		if err != nil {
			return nil, err
		}
		times, err := decodeTimes(ctx, lists, lab.Pick(env, 5, 1), "pfordelta", "ef")
		if err != nil {
			return nil, fmt.Errorf("lists of %s: %w", l.name, err)
		}
		plain, err := pureGo(func() ([]float64, error) { return decodeTimes(ctx, lists, lab.Pick(env, 3, 1), "pfordelta:plain=1") })
		if err != nil {
			return nil, fmt.Errorf("lists of %s: %w", l.name, err)
		}
		mean := float64(count(lists)) / float64(len(lists))
		t.Set(row, 0, mean)
		t.Set(row, 1, times[0])
		t.Set(row, 2, plain[0])
		t.Set(row, 3, times[1])
		t.Set(row, 4, times[0]/times[1])
		if device == nil {
			for column := 5; column < len(t.Columns); column++ {
				t.Leave(row, column, noDevice)
			}
		} else {
			each, together, err := paraEFTimes(ctx, env, device, lists)
			if err != nil {
				return nil, fmt.Errorf("lists of %s: %w", l.name, err)
			}
			for i, v := range []float64{each, together, times[0] / each, plain[0] / each, times[0] / together} {
				t.Set(row, 5+i, v)
			}
			device12.Points = append(device12.Points, lab.Point{X: mean, Y: each})
		}
		for i := range series {
			series[i].Name = names[i]
			series[i].Points = append(series[i].Points, lab.Point{X: mean, Y: times[i]})
		}
	}
	figure.Series = series
	if device != nil {
		figure.Series = append(figure.Series, device12)
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}}, nil
}

// pureGo runs f without SIMD instructions.
func pureGo[T any](f func() (T, error)) (T, error) {
	best := simd.Current()
	defer simd.Set(best)
	simd.Set(simd.PureGo)
	return f()
}

// Mean device microseconds to decode a list by Para-EF: with a launch for each,
// and with one for all.
func paraEFTimes(ctx context.Context, env *lab.Env, d *lab.Device, lists [][]uint32) (each, together float64, err error) {
	l, err := newDeviceLists(d, "ef", lists)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, l.free()) }()
	t, repeat, err := l.timeDecoding(ctx, env, decode.DocIDs)
	if err != nil {
		return 0, 0, err
	}
	together = t.Per(repeat*len(lists)) / 1000
	t, err = d.Time(ctx, lab.Pick(env, 5, 1), 1, func() error { return l.decodeEach(decode.DocIDs) })
	return t.Per(len(lists)) / 1000, together, err
}

// Mean microseconds to decode a list, by codec.
func decodeTimes(ctx context.Context, lists [][]uint32, rounds int, specs ...string) ([]float64, error) {
	var variants []lab.Variant
	// Short lists are decoded repeatedly for a measurable time.
	repeat := max(1, 2_000_000/max(1, count(lists)))
	for _, spec := range specs {
		all, err := encodeAll(spec, lists)
		if err != nil {
			return nil, err
		}
		variants = append(variants, lab.Variant{Name: spec, Do: func() error {
			for range repeat {
				if err := decodeAll(all); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	timings, err := lab.Compare(ctx, rounds, variants...)
	if err != nil {
		return nil, err
	}
	times := make([]float64, len(timings))
	for i, t := range timings {
		times[i] = t.Per(repeat*len(lists)) / 1000
	}
	return times, nil
}
