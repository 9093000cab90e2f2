package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Fig8() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig8", Paper: "ao11", Shows: "Fig. 8", Title: "Decompression speed on the GPU by share of exceptions",
		Did: "The shortest lists of all queries on GOV were decompressed on the GPU with seven codecs, by the proportion of exceptions. " +
			"LRC, LRCSeg and SegLRC are fastest; PFD and NewPFD depend on the exceptions, the others hardly.",
		Ours: ao11Ours +
			" The shortest lists of 3,000 queries with 2 or more terms, about 25 million DocIDs (100 MB, twice the L2 cache), in one launch, from and to device memory," +
			" to DocIDs; millions of integers per second, by the device time, the minimum of 5 rounds after a warm-up. The decoded lists are compared with the originals.",
		Differs: "The paper prints the figure without numbers. Our PForDelta kernel follows the linked exceptions of a " +
			"block on one lane. NewPFD's Simple-16 words are unpacked 32 at a time; the paper does not state how its " +
			"kernel does it. The paper's order deviates: LRC, LRCSeg and SegLRC are not the fastest here. A prefix sum in registers costs our PFD hardly anything, " +
			"while the kernels that patch exceptions in parallel write DocIDs to shared memory and read them again. " +
			"The second table has the kernels of Griffin's queries, which find the exceptions of LRC " +
			"by a search of each lane, because a query decodes few DocIDs.",
		Verdicts: ao11Fig8Verdicts,
		Budget:   10 * time.Minute,
		Run:      runAo11Fig8,
	}
}

func runAo11Fig8(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	shares := ao11ShareSteps(env)
	var rows, columns []string
	for _, s := range shares {
		rows = append(rows, fmt.Sprint(s))
	}
	for _, c := range ao11Codecs {
		columns = append(columns, c.name)
	}
	t := lab.NewTable("Millions of integers a second", "share of exceptions", rows, columns)
	queryKernels := lab.NewTable("With the kernels of Griffin's queries", t.RowHead, rows, columns[ao11Patched:])
	r := &lab.Result{Tables: []*lab.Table{t, queryKernels}}
	if d == nil {
		for row := range rows {
			t.LeaveRow(row, noDevice)
			queryKernels.LeaveRow(row, noDevice)
		}
		return r, nil
	}
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	asked, err := askedOf(c, queries, lab.Pick(env, 3000, 20))
	if err != nil {
		return nil, err
	}
	var shortest [][]uint32
	for _, lists := range asked {
		shortest = append(shortest, lists[0])
	}
	figure := &lab.Figure{Title: t.Title, Kind: lab.Lines, X: t.RowHead, Y: "millions of integers a second"}
	for column, k := range ao11Codecs {
		series := lab.Series{Name: k.name}
		for row, share := range shares {
			env.Progress(k.name, column*len(shares)+row, len(shares)*len(columns))
			spec := fmt.Sprintf(k.spec, share)
			speed, err := patchedSpeed(ctx, env, d, spec, shortest)
			if err != nil {
				return nil, err
			}
			t.Set(row, column, speed/1e6)
			series.Points = append(series.Points, lab.Point{X: share, Y: speed / 1e6})
			if column >= ao11Patched {
				if speed, err = decodeSpeed(ctx, env, d, spec, decode.DocIDs, shortest); err != nil {
					return nil, err
				}
				queryKernels.Set(row, column-ao11Patched, speed/1e6)
			}
		}
		figure.Series = append(figure.Series, series)
	}
	r.Figures = []*lab.Figure{figure}
	return r, nil
}
