package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/simd"
)

func ding09Table1() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-table1", Paper: "ding09", Shows: "Table 1", Title: "Decompression speed",
		Did: "Millions of integers per second that one core and one GPU decompress from the lists of 1,000 queries" +
			" on GOV2 (25.2 million documents).",
		Ours: "A sample of lists of all lengths of the 1,000 queries on a generated collection similar to GOV2, from memory; the note has the number of postings. On one core with SIMD instructions and in pure Go; on the GPU all " +
			"lists in one launch (recursive PForDelta: a few), from and to device memory. Codecs that are not in the paper follow below. Minima of 3 rounds after a warm-up on the CPU, by the host's clock, " +
			"and of 5 on the GPU, by events on the stream. The GPU's DocIDs are compared with the lists.",
		Differs: "In the paper, the CPU decompresses to gaps and the GPU to DocIDs; here both decompress to DocIDs, " +
			"which the CPU also checks to be ascending. PForDelta is by blocks on the CPU and recursive on the " +
			"GPU, as in the paper. The CPU was an Intel Core 2 Duo of 2.66 GHz, the GPU a GeForce 8800 GTS. " +
			"Direction: in the paper, PForDelta is four times as fast as Rice. Here Rice is faster on both, probably because its unary part is decoded with bit-count instructions in one pass, while recursive PForDelta decodes its exceptions in further passes.",
		Verdicts: ding09Table1Verdicts,
		Budget:   2 * time.Minute,
		Run:      runDing09Table1,
	}
}

// For an empty cell although there is a GPU.
const noKernel = "The GPU does not decode this codec; the CPU does."

var ding09Codecs = []struct {
	name, spec, onDevice string
	cpu, gpu             float64 // the paper's numbers; 0: none
}{
	{"Rice", "rice", "rice", 310.63, 305.27},
	{"PForDelta", "pfordelta", "pfordelta-rec", 1165.13, 1237.57},
	{"ef", "ef", "ef", 0, 0},
	{"qmx", "qmx", "", 0, 0},
	{"simdbp", "simdbp", "simdbp", 0, 0},
	{"vbyte", "vbyte", "", 0, 0},
}

func runDing09Table1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	lists, err := listsOf(c, queries, lab.Pick(env, 20_000_000, 100_000))
	if err != nil {
		return nil, err
	}
	device, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	codecs := ding09Codecs
	var rows []string
	var variants []lab.Variant
	best := simd.Current()
	defer simd.Set(best)
	for _, k := range codecs {
		rows = append(rows, k.name)
		all, err := encodeAll(k.spec, lists)
		if err != nil {
			return nil, err
		}
		for _, level := range []simd.Level{best, simd.PureGo} {
			variants = append(variants, lab.Variant{Name: k.name + " " + level.String(), Do: func() error {
				simd.Set(level)
				return decodeAll(all)
			}})
		}
	}
	timings, err := lab.Compare(ctx, lab.Pick(env, 3, 1), variants...)
	if err != nil {
		return nil, err
	}
	t := lab.NewTable("Millions of integers a second", "", rows, []string{"CPU", "CPU, pure Go", "GPU"})
	n := count(lists)
	const inPaper = 2 // rows
	onGPU := make([]float64, 0, len(codecs))
	figure := &lab.Figure{Title: "Decompression speed, one core", Kind: lab.Bars, X: "", Y: "millions of integers a second", Categories: rows}
	speeds := [2][]float64{}
	for row, k := range codecs {
		for column := range 2 {
			v := timings[2*row+column].PerSecond(n) / 1e6
			t.Set(row, column, v)
			speeds[column] = append(speeds[column], v)
		}
		switch {
		case device == nil:
			t.Leave(row, 2, noDevice)
		case k.onDevice == "":
			t.Leave(row, 2, noKernel)
		default:
			v, err := decodeSpeed(ctx, env, device, k.onDevice, decode.DocIDs, lists)
			if err != nil {
				return nil, err
			}
			t.Set(row, 2, v/1e6)
			onGPU = append(onGPU, v/1e6)
		}
		if k.cpu > 0 {
			t.SetPaper(row, 0, k.cpu)
			t.SetPaper(row, 2, k.gpu)
		}
	}
	figure.X = "codec"
	figure.Series = []lab.Series{
		{Name: "SIMD " + best.String(), Points: lab.Heights(speeds[0]...)},
		{Name: "pure Go", Points: lab.Heights(speeds[1]...)},
		{Name: "paper, 2009", Paper: true, Points: lab.Heights(310.63, 1165.13, 0, 0, 0, 0)},
	}
	r := &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}, Notes: []string{fmt.Sprintf("%d lists with %d postings, of collection %s.", len(lists), n, c.Describe())}}
	if device != nil {
		onPaper := []lab.Series{{Name: "GPU", Points: lab.Heights(onGPU[:inPaper]...)}, {Name: "paper, 2009", Paper: true, Points: lab.Heights(codecs[0].gpu, codecs[1].gpu)}}
		r.Figures = append(r.Figures, &lab.Figure{Title: "Decompression speed, GPU", Kind: lab.Bars, LogY: true, X: "codec", Y: figure.Y, Categories: rows[:inPaper], Series: onPaper})
	}
	return r, nil
}
