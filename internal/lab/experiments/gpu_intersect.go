package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

// Pairs of lists, to be intersected one by one.
type devicePairs struct {
	deviceMemory
	x         *intersect.Intersector
	workspace *intersect.Workspace
	out       intersect.Candidates
	pairs     [][2]intersect.List // shorter list first
	want      []int               // sizes of the intersections
}

// pairsOf pairs each list with the next one.
func pairsOf(lists [][]uint32) [][2][]uint32 {
	var pairs [][2][]uint32
	for i := range lists[1:] {
		pairs = append(pairs, [2][]uint32{lists[i], lists[i+1]})
	}
	return pairs
}

func newDevicePairs(d *lab.Device, pairs [][2][]uint32) (*devicePairs, error) {
	p := &devicePairs{deviceMemory: deviceMemory{device: d}}
	if err := p.load(pairs); err != nil {
		return nil, errors.Join(err, p.free())
	}
	return p, nil
}

func (p *devicePairs) load(pairs [][2][]uint32) error {
	there := map[*uint32]cuda.Buffer[uint32]{}
	bring := func(docIDs []uint32) (intersect.List, error) {
		b, ok := there[&docIDs[0]]
		if !ok {
			var err error
			if b, err = upload(&p.deviceMemory, docIDs); err != nil {
				return intersect.List{}, err
			}
			there[&docIDs[0]] = b
		}
		return intersect.List{DocIDs: b}, nil
	}
	shortest, longest := 0, 0
	for _, pair := range pairs {
		if len(pair[0]) > len(pair[1]) {
			pair[0], pair[1] = pair[1], pair[0]
		}
		short, err := bring(pair[0])
		if err != nil {
			return err
		}
		long, err := bring(pair[1])
		if err != nil {
			return err
		}
		p.pairs = append(p.pairs, [2]intersect.List{short, long})
		p.want = append(p.want, len(mergeIntersect(nil, pair[0], pair[1])))
		shortest, longest = max(shortest, len(pair[0])), max(longest, len(pair[1]))
	}
	var err error
	if p.x, err = intersect.New(p.device.Device); err != nil {
		return err
	}
	p.frees = append(p.frees, p.x.Close)
	if p.workspace, err = intersect.NewWorkspace(p.device.Device, shortest, longest); err != nil {
		return err
	}
	p.frees = append(p.frees, func() error { p.workspace.Free(); return nil })
	if p.out, err = intersect.NewCandidates(p.device.Device, 0, shortest); err != nil {
		return err
	}
	p.frees = append(p.frees, func() error { p.out.Free(); return nil })
	return nil
}

type intersectMethod func(p *devicePairs, a, b intersect.List) error

func byMergePath(p *devicePairs, a, b intersect.List) error {
	return p.x.MergePath(p.device.Stream, p.workspace, a, b, p.out)
}

func byProbe(p *devicePairs, a, b intersect.List) error {
	return p.x.Probe(p.device.Stream, p.workspace, a, b, p.out)
}

// With levels of splitters; 0 is the plain binary search.
func byMergeFind(levels int) intersectMethod {
	return func(p *devicePairs, a, b intersect.List) error {
		return p.x.MergeFind(p.device.Stream, p.workspace, levels, a, b, p.out)
	}
}

// time returns the mean device microseconds of an intersection, after checking
// the results.
func (p *devicePairs) time(ctx context.Context, env *lab.Env, do intersectMethod) (float64, error) {
	elements := 0
	for i, pair := range p.pairs {
		if err := do(p, pair[0], pair[1]); err != nil {
			return 0, err
		}
		found, err := download(&p.deviceMemory, p.out.Count)
		if err != nil {
			return 0, err
		}
		if int(found[0]) != p.want[i] {
			return 0, fmt.Errorf("the device finds %d of %d common elements of pair %d", found[0], p.want[i], i)
		}
		elements += pair[0].DocIDs.Len() + pair[1].DocIDs.Len()
	}
	repeat := lab.Pick(env, min(50, max(1, 100_000_000/max(1, elements))), 1)
	t, err := p.device.Time(ctx, lab.Pick(env, 5, 1), repeat, func() error {
		for _, pair := range p.pairs {
			if err := do(p, pair[0], pair[1]); err != nil {
				return err
			}
		}
		return nil
	})
	return t.Per(repeat*len(p.pairs)) / 1000, err
}

// Mean device microseconds of an intersection: by MergePath, by plain binary
// search, and by Griffin's search.
func deviceIntersectTimes(ctx context.Context, env *lab.Env, d *lab.Device, pairs [][2][]uint32) (times []float64, err error) {
	p, err := newDevicePairs(d, pairs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.free()) }()
	for _, do := range []intersectMethod{byMergePath, byMergeFind(0), byProbe} {
		us, err := p.time(ctx, env, do)
		if err != nil {
			return nil, err
		}
		times = append(times, us)
	}
	return times, nil
}

// randomList returns n distinct ascending numbers below universe, all sets
// equally likely.
func randomList(rng *rand.Rand, n, universe int) []uint32 {
	list := make([]uint32, 0, n)
	for left, x := n, 0; left > 0; x++ {
		// Of the universe-x remaining numbers, left must be taken.
		skip := skipOf(rng, universe-x, left)
		x += skip
		list = append(list, uint32(x))
		left--
	}
	return list
}

// skipOf returns how many of n numbers precede the first of k numbers drawn
// from them: nearly geometric if k is small, and sufficiently exact otherwise.
func skipOf(rng *rand.Rand, n, k int) int {
	if k >= n {
		return 0
	}
	skip := 0
	for p := float64(k) / float64(n); rng.Float64() >= p && skip < n-k; skip++ {
		p = float64(k) / float64(n-skip)
	}
	return skip
}

// deviceRatios compares MergePath and searches; the longer list has 4 million
// elements.
func deviceRatios(ctx context.Context, env *lab.Env, d *lab.Device, noDevice string) (*lab.Table, *lab.Figure, error) {
	longer := lab.Pick(env, 4_000_000, 20_000)
	var rows []string
	ratios := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}
	for _, r := range ratios {
		rows = append(rows, fmt.Sprint(r))
	}
	columns := []string{"MergePath", "binary search", "Griffin's search"}
	t := lab.NewTable(fmt.Sprintf("Time of an intersection on the GPU with a list of %d elements, µs", longer), "ratio of lengths", rows,
		append(slices.Clone(columns), "binary search to MergePath"))
	if d == nil {
		for row := range rows {
			t.LeaveRow(row, noDevice)
		}
		return t, nil, nil
	}
	rng := rand.New(rand.NewPCG(env.Seed, 13))
	universe := 8 * longer
	long := randomList(rng, longer, universe)
	figure := &lab.Figure{
		Title: t.Title, Kind: lab.Lines, LogX: true, LogY: true, X: t.RowHead, Y: "time, µs",
		Series: make([]lab.Series, len(columns)),
	}
	for row, r := range ratios {
		env.Progress("ratios", row, len(ratios))
		times, err := deviceIntersectTimes(ctx, env, d, [][2][]uint32{{randomList(rng, max(1, longer/r), universe), long}})
		if err != nil {
			return nil, nil, err
		}
		for i, us := range times {
			t.Set(row, i, us)
			figure.Series[i].Name = columns[i]
			figure.Series[i].Points = append(figure.Series[i].Points, lab.Point{X: float64(r), Y: us})
		}
		t.Set(row, 3, times[1]/times[0])
	}
	return t, figure, nil
}
