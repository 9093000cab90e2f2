package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11ListH() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-list-h", Paper: "ao11", Shows: "§5.3, list H", Title: "Cost and gain of the list H",
		Did: "Algorithm 1 searches the first DocIDs of the segments, H, then one segment. Without H it searches the elements of the safe range. " +
			"H takes 33 % less GPU time, and reduces the compression ratio by 0.80 %.",
		Ours: ao11Ours + " Batches of a million elements. " + paraOurs + " GPU time: the device time of the search kernel with its scan, of one launch per batch in another pass, in which the L2 cache is overwritten before each launch. " +
			"The ratio without H counts 4 bytes less per segment of 256. " + ao11Compression,
		Differs: paraDiffers + "The paper gives the numbers of LRC, without naming the collection. HS.LRC has no H. " +
			"Without H, each step opens a segment, that is 2 more accesses than with H; its line stays in the caches while the steps stay in a segment, which a GTX 480 hardly had.",
		Verdicts: ao11ListHVerdicts,
		Budget:   10 * time.Minute,
		Run:      runAo11ListH,
	}
}

func runAo11ListH(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	names := []string{"LRC", "LRCSeg", "SegLRC"}
	const onGPU = 5 // columns of the GPU
	t := lab.NewTable("List H on the collection like GOV", "lists", names, []string{
		"GPU with H, µs a batch", "GPU without H, µs a batch", "GPU time saved, %", "queries a second with H", "queries a second without H",
		"ratio with H", "ratio without H", "ratio lost, %",
	})
	t.SetPaper(0, 2, 33)
	t.SetPaper(0, onGPU+2, 0.80)
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	lists, err := ao11Lists(env, c, queries)
	if err != nil {
		return nil, err
	}
	heads := int64(0) // bytes
	for _, l := range lists {
		if len(l) > codec.BlockLen { // shorter ones are one block
			heads += 4 * int64((len(l)+codec.DefaultSegmentLen-1)/codec.DefaultSegmentLen)
		}
	}
	for row, spec := range []string{"lrc", "lrcseg", "seglrc"} {
		found, err := codec.Lookup(spec)
		if err != nil {
			return nil, err
		}
		size, original := encodedSize(found, lists), 4*float64(count(lists))
		t.Set(row, onGPU, original/float64(size))
		t.Set(row, onGPU+1, original/float64(size-heads))
		t.Set(row, onGPU+2, 100*float64(heads)/float64(size))
	}
	r := &lab.Result{Tables: []*lab.Table{t}}
	if d == nil {
		for column := range onGPU {
			t.LeaveColumn(column, noDevice)
		}
		return r, nil
	}
	runs, err := measurePara(ctx, env, d, &paraListH, "GOV", c, queries)
	if err != nil {
		return nil, err
	}
	for row, name := range names {
		with, without := runs.at(name, ao11Million(env)), runs.at(name+withoutHName, ao11Million(env))
		t.Set(row, 0, with.searchMicros())
		t.Set(row, 1, without.searchMicros())
		t.Set(row, 2, 100*(1-with.searchMicros()/without.searchMicros()))
		t.Set(row, 3, with.throughput())
		t.Set(row, 4, without.throughput())
	}
	return r, nil
}

// searchMicros is the device time of a batch.
func (r *paraRun) searchMicros() float64 { return r.searched.Seconds() * 1e6 / float64(r.batches) }
