package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
)

func ding09Fig4() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-fig4", Paper: "ding09", Shows: "Fig. 4", Title: "Decompression speed of PForDelta by length of list",
		Did: "Lists of 1,000 queries on GOV2, grouped by length: millions of integers per second that PForDelta " +
			"decompresses on the CPU (to gaps), on the GPU to gaps, and on the GPU with the localised prefix sum," +
			" to DocIDs. The GPU is slower on short lists and reaches 2.5 billion integers per second on long " +
			"ones.",
		Ours: "Lists of the 1,000 queries on a generated collection similar to GOV2, in the paper's groups: " +
			"PForDelta on one core, to DocIDs; recursive PForDelta on the GPU, list by list with separate " +
			"launches, to gaps and to DocIDs; and all lists of a group together. CPU times are minima of 3 rounds after a warm-up, GPU times minima of 5, of device time between events; " +
			"lists and results are in the memory of the processor. All DocIDs from the GPU are compared with the lists.",
		Differs: "The paper prints a figure without numbers, except the 2.5 billion, to gaps on long lists; they are in the last row and a line in the figure. Up to 60 lists per group, " +
			"at most 20 million postings. Our PForDelta on the CPU always converts gaps to DocIDs. Direction: the prefix sum costs nearly nothing here, probably because its sums stay in registers " +
			"and the kernel waits for memory.",
		Verdicts: ding09Fig4Verdicts,
		Budget:   3 * time.Minute,
		Run:      runDing09Fig4,
	}
}

// ding09Gaps is the paper's highest speed, in millions of integers a second.
const ding09Gaps = 2500

// Upper limits of the groups, in thousands.
var fig4Thousands = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}

func runDing09Fig4(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	device, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	columns := []string{"mean length", "CPU", "GPU, gaps", "GPU+LPS, DocIDs", "GPU+LPS, all lists at once"}
	var rows []string
	for _, k := range fig4Thousands {
		rows = append(rows, fmt.Sprintf("%d K", k))
	}
	t := lab.NewTable("Millions of integers a second", "up to", rows, columns)
	series := make([]lab.Series, len(columns)-1)
	for row, k := range fig4Thousands {
		env.Progress("decompress", row, len(fig4Thousands))
		// The logarithmic middle of the group (k/2, k].
		lists, err := nearestLists(c, terms, k*707, lab.Pick(env, max(2, min(60, 20_000_000/(1000*k))), 2))
		if err != nil {
			return nil, err
		}
		times, err := decodeTimes(ctx, lists, lab.Pick(env, 3, 1), "pfordelta")
		if err != nil {
			return nil, err
		}
		mean := float64(count(lists)) / float64(len(lists))
		speeds := []float64{mean / times[0]}
		if device != nil {
			if speeds, err = appendDeviceSpeeds(ctx, env, speeds, device, lists); err != nil {
				return nil, err
			}
		}
		t.Set(row, 0, mean)
		for i := range series {
			if i >= len(speeds) {
				t.Leave(row, 1+i, noDevice)
				continue
			}
			t.Set(row, 1+i, speeds[i])
			series[i].Name = columns[1+i]
			series[i].Points = append(series[i].Points, lab.Point{X: mean, Y: speeds[i]})
		}
	}
	figure := &lab.Figure{Title: t.Title, Kind: lab.Lines, LogX: true, LogY: true, X: "elements of the list", Y: "millions of integers a second"}
	t.SetPaper(len(rows)-1, 2, ding09Gaps)
	for _, s := range series {
		if len(s.Points) > 0 {
			figure.Series = append(figure.Series, s)
		}
	}
	figure.Series = append(figure.Series, paperLevel("the paper: up to 2.5 billion, gaps", figure.Series[0].Points, ding09Gaps))
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}, Notes: []string{"Collection " + c.Describe() + "."}}, nil
}

// paperLevel is a horizontal line at a number of the paper.
func paperLevel(name string, along []lab.Point, y float64) lab.Series {
	return lab.Series{Name: name, Paper: true, Points: []lab.Point{{X: along[0].X, Y: y}, {X: along[len(along)-1].X, Y: y}}}
}

// appendDeviceSpeeds appends millions of integers per second: lists one by one
// to gaps and to DocIDs, and all together to DocIDs.
func appendDeviceSpeeds(ctx context.Context, env *lab.Env, speeds []float64, d *lab.Device, lists [][]uint32) ([]float64, error) {
	for _, what := range []decode.What{decode.Gaps, decode.DocIDs} {
		var took time.Duration
		for _, l := range lists {
			alone, err := newDeviceLists(d, "pfordelta-rec", [][]uint32{l})
			if err != nil {
				return nil, err
			}
			t, repeat, err := alone.timeDecoding(ctx, env, what)
			if err := firstError(err, alone.free()); err != nil {
				return nil, err
			}
			took += t.Min / time.Duration(repeat)
		}
		speeds = append(speeds, float64(count(lists))/max(took.Seconds(), 1e-9)/1e6)
	}
	together, err := decodeSpeed(ctx, env, d, "pfordelta-rec", decode.DocIDs, lists)
	return append(speeds, together/1e6), err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
