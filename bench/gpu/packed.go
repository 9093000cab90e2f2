package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	gpudecode "github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// One kind of query with the lists in one place.
type packedFigure struct {
	Query string `json:"query"` // such as "or k=10"
	Place string `json:"place"` // the name of a packedPlace
	// Single queries in microseconds; CPU is on one thread.
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	Mean float64 `json:"mean_us"`
	CPU  float64 `json:"cpu_mean_us"`
	// Means per query.
	Postings float64 `json:"postings"`
	Blocks   float64 `json:"blocks"`
	Bytes    float64 `json:"bytes"`
	GBs      float64 `json:"gb_s"`
}

var packedKinds = []struct {
	name  string
	mode  traverse.Mode
	k     int
	count bool
}{
	{"or k=10", traverse.Or, 10, false},
	{"or k=1000", traverse.Or, 1000, false},
	{"or count", traverse.Or, 0, true},
	{"and k=10", traverse.And, 10, false},
	{"and k=1000", traverse.And, 1000, false},
	{"and candidates", traverse.And, 0, false},
}

var packedPlaces = []struct {
	name               string
	payload, directory bool // whether it is in host memory
}{
	{"device", false, false},
	{"host, directories on the device", true, false},
	{"host", true, true},
}

// Compressed lists on a device and in page-locked host memory.
type packedTarget struct {
	*bench
	options *options
	stream  *cuda.Stream
	runner  *packedsearch.Runner
	lengths cuda.Buffer[uint32]
	host    cuda.HostBuffer[uint32]
	device  cuda.Buffer[uint32]
	at      []listWords
}

// Offsets in words.
type listWords struct{ payload, directory int }

func measurePacked(ctx context.Context, o *options, d *cuda.Device, b *bench) (figures []*packedFigure, err error) {
	t := &packedTarget{bench: b, options: o}
	kernels, err := packedsearch.New(d)
	if err != nil {
		return nil, err
	}
	if t.runner, err = kernels.NewRunner(packedsearch.Limits{}); err != nil {
		return nil, err
	}
	if t.stream, err = d.NewStream(); err != nil {
		return nil, err
	}
	if err := t.place(d); err != nil {
		return nil, err
	}
	for i := range packedKinds {
		some, err := t.measure(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", packedKinds[i].name, err)
		}
		figures = append(figures, some...)
	}
	return figures, errors.Join(t.runner.Close(), kernels.Close(), t.stream.Close(), t.lengths.Free(), t.host.Free(), t.device.Free())
}

func (t *packedTarget) place(d *cuda.Device) (err error) {
	used := make([]bool, len(t.lists))
	for i := range t.queries {
		for _, n := range t.queries[i].lists {
			used[n] = true
		}
	}
	t.at = make([]listWords, len(t.lists))
	words := 0
	for i := range t.lists {
		if !used[i] {
			continue
		}
		payload, directory := t.lists[i].Raw()
		t.at[i] = listWords{words, words + (len(payload)+15)/16*4}
		words = t.at[i].directory + len(directory)*gpudecode.EntryWords
	}
	if t.host, err = cuda.AllocHost[uint32](d, words); err != nil {
		return err
	}
	for i := range t.lists {
		if !used[i] {
			continue
		}
		payload, directory := t.lists[i].Raw()
		to := t.host.Bytes()[4*t.at[i].payload:]
		clear(to[copy(to, payload):][:4*(t.at[i].directory-t.at[i].payload)-len(payload)])
		to = t.host.Bytes()[4*t.at[i].directory:]
		for j := range directory {
			putEntry(to[16*j:], &directory[j])
		}
	}
	if t.device, err = cuda.Alloc[uint32](d, words); err != nil {
		return err
	}
	if t.lengths, err = cuda.Alloc[uint32](d, t.numDocs); err != nil {
		return err
	}
	fmt.Printf("%s: %.2f GB of compressed lists\n", t.name, float64(words)*4/1e9)
	return errors.Join(
		cuda.CopyToDevice(t.stream, t.device, t.host.Data()),
		cuda.CopyToDevice(t.stream, t.lengths, t.bench.lengths),
		t.stream.Synchronize())
}

// In the format of the file.
func putEntry(to []byte, e *postings.BlockEntry) {
	binary.LittleEndian.PutUint32(to, e.First)
	binary.LittleEndian.PutUint32(to[4:], e.Last)
	binary.LittleEndian.PutUint32(to[8:], e.Offset)
	binary.LittleEndian.PutUint32(to[12:], uint32(e.Bound)|uint32(e.DocWidth)<<16|uint32(e.FreqWidth)<<24)
}

func (t *packedTarget) query(i, kind, place int) (gpu packedsearch.Query, cpu traverse.Query) {
	k, p := &packedKinds[kind], &packedPlaces[place]
	gpu = packedsearch.Query{Conjunctive: k.mode == traverse.And, K: k.k, Count: k.count}
	cpu = traverse.Query{NumDocs: t.numDocs}
	lists := slices.Clone(t.queries[i].lists)
	slices.SortFunc(lists, func(x, y int) int { return cmp.Compare(t.lists[x].DocFreq, t.lists[y].DocFreq) })
	for _, n := range lists {
		l := &t.lists[n]
		term := t.sat.NewTerm(score.IDF(uint64(t.numDocs), uint64(l.DocFreq)), 1, t.sat.AvgLen)
		scale := score.NewScale(term, t.sat.AvgLen, t.sat.AvgLen)
		at := t.at[n]
		on := packedsearch.List{
			Payload:         t.device.Ptr() + cuda.Ptr[uint32](4*at.payload),
			Directory:       t.device.Ptr() + cuda.Ptr[uint32](4*at.directory),
			DirectoryOnHost: p.directory,
			Leg:             leg.Leg{List: l, Term: term, Scale: scale},
			Lengths:         t.lengths.Ptr(),
		}
		if p.payload {
			on.Payload = t.host.DevicePtr() + cuda.Ptr[uint32](4*at.payload)
		}
		if p.directory {
			on.Directory = t.host.DevicePtr() + cuda.Ptr[uint32](4*at.directory)
		}
		gpu.Lists = append(gpu.Lists, on)
		cpu.Legs = append(cpu.Legs, traverse.Leg{
			Leg: leg.Leg{List: l, Term: term, Scale: scale}, Lengths: t.bench.lengths, MaxScore: scale.Upper(l.Max), Derived: t.derived.List(uint64(n)),
		})
	}
	return gpu, cpu
}

type timed struct {
	postings float64
	took     float64
	stats    packedsearch.Stats
}

// measure compares the hits in all places with the CPU's.
func (t *packedTarget) measure(ctx context.Context, kind int) ([]*packedFigure, error) {
	k := &packedKinds[kind]
	want, cpu, err := t.cpu(ctx, kind)
	if err != nil {
		return nil, err
	}
	var figures []*packedFigure
	var hits []base.Hit
	var out packedsearch.Candidates
	segment := imagesearch.Segment{NumDocs: t.numDocs}
	for place := range packedPlaces {
		f := &packedFigure{Query: k.name, Place: packedPlaces[place].name, CPU: cpu}
		var all []timed
		for i := range t.queries {
			q, _ := t.query(i, kind, place)
			var best timed
			for _, l := range q.Lists {
				best.postings += float64(l.DocFreq())
			}
			for round := range 3 { // the first round warms up
				began := time.Now()
				if hits, _, err = t.runner.Run(t.stream, segment, &q, hits[:0], &out); err != nil {
					return nil, fmt.Errorf("query %d: %w", i, err)
				}
				took := float64(time.Since(began).Nanoseconds()) / 1e3
				if round == 1 || round > 1 && took < best.took {
					best.took = took
				}
			}
			if k.k > 0 && i < len(want) && !slices.Equal(hits, want[i]) {
				return nil, fmt.Errorf("query %d in %s: %v, want %v as on the CPU", i, f.Place, hits, want[i])
			}
			best.stats = t.runner.Stats()
			all = append(all, best)
		}
		f.summarise(all)
		figures = append(figures, f)
		fmt.Printf("%-15s %-32s mean %7.1f p50 %6.1f p99 %7.1f µs | cpu %7.1f µs | %.2f M postings, %6.0f blocks, %.2f MB a query, %.1f GB/s\n",
			f.Query, f.Place, f.Mean, f.P50, f.P99, f.CPU, f.Postings/1e6, f.Blocks, f.Bytes/1e6, f.GBs)
		for _, at := range []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
			q := all[int(at*float64(len(all)-1))]
			fmt.Printf("    at %4.2f: %7.1f µs: %8.0f postings, %6d blocks, %8d bytes, %d ranges\n", at, q.took, q.postings, q.stats.Blocks, q.stats.Bytes, q.stats.Ranges)
		}
	}
	return figures, nil
}

// summarise sorts the queries by time.
func (f *packedFigure) summarise(all []timed) {
	slices.SortFunc(all, func(x, y timed) int { return cmp.Compare(x.took, y.took) })
	n := float64(len(all))
	for _, q := range all {
		f.Mean += q.took / n
		f.Postings += q.postings / n
		f.Blocks += float64(q.stats.Blocks) / n
		f.Bytes += float64(q.stats.Bytes) / n
	}
	f.P50, f.P99 = all[rank(len(all), 0.5)].took, all[rank(len(all), 0.99)].took
	f.GBs = f.Bytes / f.Mean / 1e3
}

// cpu runs the first cpuQueries queries on one thread and returns their hits and mean
// microseconds, the better of two runs each.
func (t *packedTarget) cpu(ctx context.Context, kind int) (want [][]base.Hit, mean float64, err error) {
	k := &packedKinds[kind]
	n := min(t.options.cpuQueries, len(t.queries))
	if k.k == 0 || n == 0 {
		return nil, 0, nil
	}
	var s traverse.Scratch
	var queue topk.Queue
	for i := range n {
		_, q := t.query(i, kind, 0)
		var best time.Duration
		for round := range 2 {
			queue.Reset(k.k)
			began := time.Now()
			if err := traverse.Choose(k.mode, q.Legs, k.k, false).Run(ctx, &s, &q, &queue); err != nil {
				return nil, 0, err
			}
			if took := time.Since(began); round == 0 || took < best {
				best = took
			}
		}
		mean += float64(best.Nanoseconds()) / 1e3 / float64(n)
		want = append(want, queue.AppendSorted(nil))
	}
	return want, mean, nil
}
