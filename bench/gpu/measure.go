package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

type collectionStats struct {
	Name      string    `json:"name"`
	Documents int       `json:"documents"`
	Lists     int       `json:"lists"`
	Postings  int64     `json:"postings"`
	Images    int64     `json:"image_bytes"`
	BuildGs   float64   `json:"build_gigapostings_s"`
	Figures   []*figure `json:"figures,omitempty"`

	Packed []*packedFigure `json:"packed,omitempty"`
}

type figure struct {
	Query    string  `json:"query"` // such as "or k=10"
	Postings float64 `json:"postings_per_query"`
	Terms    float64 `json:"terms_per_query"`

	Batches []batchFigure `json:"batches,omitempty"`

	SingleP50  float64 `json:"single_p50_us"`
	SingleP99  float64 `json:"single_p99_us"`
	SingleDev  float64 `json:"single_device_p50_us"`
	SingleMean float64 `json:"single_mean_us"`

	CPUThread float64 `json:"cpu_thread_queries_s"`
	CPUAll    float64 `json:"cpu_all_queries_s"`

	// Means per query: the first four in a batch, SingleRanges alone.
	Supers       float64 `json:"supers"`
	Ranges       float64 `json:"ranges"`
	Candidates   float64 `json:"candidates"`
	Rounds       float64 `json:"rounds"`
	SingleRanges float64 `json:"single_ranges"`
}

type batchFigure struct {
	Queries     int     `json:"queries"`
	WallPerS    float64 `json:"wall_queries_s"`
	DevicePerS  float64 `json:"device_queries_s"`
	BytesPerS   float64 `json:"gb_s"`         // lower bound of image bytes read, see target.bytes
	CopyPercent float64 `json:"copy_percent"` // of CopyGBs
}

type kindOfQuery struct {
	name    string
	mode    imagesearch.Mode
	cpu     traverse.Mode
	k       int
	count   bool
	batches []int
}

var kinds = map[string][]kindOfQuery{
	"gov2": {
		{"or k=10", imagesearch.Or, traverse.Or, 10, false, []int{100, 1000, 10000}},
		{"or k=100", imagesearch.Or, traverse.Or, 100, false, []int{1000}},
		{"or k=1000", imagesearch.Or, traverse.Or, 1000, false, []int{1000}},
		{"and k=10", imagesearch.And, traverse.And, 10, false, []int{100, 1000, 10000}},
		{"or count", imagesearch.Or, traverse.Or, 0, true, []int{1000}},
	},
	"gov": {
		{"or k=10", imagesearch.Or, traverse.Or, 10, false, []int{1000, 10000}},
		{"and k=10", imagesearch.And, traverse.And, 10, false, []int{1000, 10000}},
		{"and count", imagesearch.And, traverse.And, 0, true, []int{1000, 10000}},
	},
	"sparse": {
		{"or k=10", imagesearch.Or, traverse.Or, 10, false, []int{500, 5000}},
		{"or k=1000", imagesearch.Or, traverse.Or, 1000, false, []int{500}},
	},
}

// A collection on a device, until close.
type target struct {
	*bench
	options *options
	device  *cuda.Device
	stream  *cuda.Stream
	kernels *imagesearch.Kernels
	segment imagesearch.Segment
	lengths cuda.Buffer[uint32]
	images  []imagesearch.Image
	data    []cuda.Buffer[byte]
	stats   *collectionStats
	copyGBs float64
}

func measure(ctx context.Context, o *options, d *cuda.Device, copyGBs float64, b *bench) (*collectionStats, error) {
	t := &target{copyGBs: copyGBs, bench: b, options: o, device: d, segment: imagesearch.Segment{NumDocs: b.numDocs}, stats: &collectionStats{Name: b.name, Documents: b.numDocs, Lists: len(b.lists)}}
	var err error
	if t.kernels, err = imagesearch.Load(d); err != nil {
		return nil, err
	}
	if t.stream, err = d.NewStream(); err != nil {
		return nil, err
	}
	if err := t.upload(); err != nil {
		return nil, err
	}
	for _, k := range kinds[b.name] {
		if !strings.HasPrefix(k.name, o.only) {
			continue
		}
		f, err := t.measure(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		t.stats.Figures = append(t.stats.Figures, f)
	}
	return t.stats, t.close()
}

func (t *target) close() error {
	errs := []error{t.lengths.Free(), t.kernels.Close(), t.stream.Close()}
	for _, b := range t.data {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}

func (t *target) query(q *benchQuery, k kindOfQuery) (imagesearch.Query, traverse.Query) {
	gpu := imagesearch.Query{Mode: k.mode, K: k.k, Count: k.count}
	cpu := traverse.Query{NumDocs: t.numDocs}
	for i, n := range q.lists {
		l := &t.lists[n]
		term := t.sat.NewTerm(score.IDF(uint64(t.numDocs), uint64(l.DocFreq)), 1, t.sat.AvgLen)
		scale := score.NewScale(term, t.sat.AvgLen, t.sat.AvgLen)
		if t.sat.Linear {
			term = score.NewLinearTerm(q.weights[i], 1)
			scale = score.NewScale(term, 0, 0)
		}
		gpu.Terms = append(gpu.Terms, imagesearch.Term{Leg: leg.Leg{List: l, Term: term, Scale: scale}, Image: t.images[n], Lengths: t.lengths})
		cpu.Legs = append(cpu.Legs, traverse.Leg{
			Leg: leg.Leg{List: l, Term: term, Scale: scale}, Lengths: t.bench.lengths, MaxScore: scale.Upper(l.Max), Derived: t.derived.List(uint64(n)),
		})
	}
	return gpu, cpu
}

func (t *target) measure(ctx context.Context, k kindOfQuery) (*figure, error) {
	f := &figure{Query: k.name}
	gpu := make([]imagesearch.Query, len(t.queries))
	cpu := make([]traverse.Query, len(t.queries))
	for i := range t.queries {
		gpu[i], cpu[i] = t.query(&t.queries[i], k)
		for _, n := range t.queries[i].lists {
			f.Postings += float64(t.lists[n].DocFreq)
		}
		f.Terms += float64(len(t.queries[i].lists))
	}
	n := float64(len(gpu))
	f.Postings, f.Terms = f.Postings/n, f.Terms/n
	if k.k > 0 {
		if err := t.cpu(ctx, f, k, gpu, cpu); err != nil {
			return nil, err
		}
	}
	for _, size := range k.batches {
		if t.options.first > 0 {
			size = min(size, t.options.first)
		}
		if err := t.batches(f, gpu, size, k.k); err != nil {
			return nil, err
		}
	}
	if t.options.batches == 0 {
		if err := t.singles(f, gpu); err != nil {
			return nil, err
		}
	}
	fmt.Printf("%-12s", k.name)
	for _, b := range f.Batches {
		fmt.Printf(" | %d: wall %.0f/s device %.0f/s", b.Queries, b.WallPerS, b.DevicePerS)
	}
	fmt.Printf(" | single p50 %.1f p99 %.1f mean %.1f device %.1f µs | cpu %.0f, all %.0f/s | supers %.0f ranges %.0f cand %.0f rounds %.1f single ranges %.0f\n",
		f.SingleP50, f.SingleP99, f.SingleMean, f.SingleDev, f.CPUThread, f.CPUAll, f.Supers, f.Ranges, f.Candidates, f.Rounds, f.SingleRanges)
	return f, nil
}

// cpu runs the first cpuQueries queries on one thread and on all, and compares the device's
// hits with them.
func (t *target) cpu(ctx context.Context, f *figure, k kindOfQuery, gpu []imagesearch.Query, cpu []traverse.Query) error {
	n := min(t.options.cpuQueries, len(cpu))
	if n == 0 {
		return nil
	}
	answer := func(s *traverse.Scratch, queue *topk.Queue, q *traverse.Query) error {
		queue.Reset(k.k)
		return traverse.Choose(k.cpu, q.Legs, k.k, false).Run(ctx, s, q, queue)
	}
	want := make([][]base.Hit, n)
	all := func(threads int, keep bool) (float64, error) {
		var next atomic.Int64
		var wg sync.WaitGroup
		errs := make([]error, threads)
		began := time.Now()
		for w := range threads {
			wg.Go(func() {
				var s traverse.Scratch
				var queue topk.Queue
				for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
					errs[w] = answer(&s, &queue, &cpu[i])
					if keep {
						want[i] = queue.AppendSorted(nil)
					}
				}
			})
		}
		wg.Wait()
		return float64(n) / time.Since(began).Seconds(), errors.Join(errs...)
	}
	var err error
	if _, err = all(runtime.GOMAXPROCS(0), true); err != nil { // warm
		return err
	}
	if t.options.batches == 0 {
		if f.CPUThread, err = all(1, false); err != nil {
			return err
		}
		if f.CPUAll, err = all(runtime.GOMAXPROCS(0), false); err != nil {
			return err
		}
	}
	return t.compare(gpu[:n], want)
}

func (t *target) compare(queries []imagesearch.Query, want [][]base.Hit) error {
	b, err := t.batch(queries, len(queries))
	if err != nil {
		return err
	}
	s, err := t.kernels.NewSingle(0)
	if err != nil {
		return err
	}
	s.SetStay(true)
	if err := t.fill(b, queries, 0, len(queries)); err != nil {
		return err
	}
	if err := errors.Join(b.Launch(t.stream), b.Wait()); err != nil {
		return err
	}
	for i := range queries {
		if got := b.AppendHits(nil, i); !slices.Equal(got, want[i]) {
			return fmt.Errorf("query %d in a batch: %v, want %v", i, got, want[i])
		}
		if err := s.Search(t.stream, t.segment, &queries[i]); err != nil {
			return err
		}
		if got := s.AppendHits(nil); !slices.Equal(got, want[i]) {
			return fmt.Errorf("query %d alone: %v, want %v", i, got, want[i])
		}
	}
	return errors.Join(b.Close(), s.Close())
}

// With capacity for any size of the queries.
func (t *target) batch(queries []imagesearch.Query, size int) (*imagesearch.Batch, error) {
	terms, k := 0, 0
	for i := range queries {
		terms, k = max(terms, len(queries[i].Terms)), max(k, queries[i].K)
	}
	return t.kernels.NewBatch(imagesearch.Limits{Queries: size, Terms: size * terms, Hits: size * k})
}

// size queries from number from on, cyclically.
func (t *target) fill(b *imagesearch.Batch, queries []imagesearch.Query, from, size int) error {
	b.Reset(t.segment)
	for i := range size {
		if _, err := b.Add(&queries[(from+i)%len(queries)]); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) batches(f *figure, queries []imagesearch.Query, size, k int) error {
	var batches [2]*imagesearch.Batch
	var streams [2]*cuda.Stream
	for i := range batches {
		var err error
		if batches[i], err = t.batch(queries, size); err != nil {
			return err
		}
		if streams[i], err = t.device.NewStream(); err != nil {
			return err
		}
		if err := t.fill(batches[i], queries, 0, size); err != nil { // warm
			return err
		}
		if err := errors.Join(batches[i].Launch(streams[i]), batches[i].Wait()); err != nil {
			return err
		}
	}
	figure := batchFigure{Queries: size}
	work := [4]float64{}
	bytes := 0.0
	for i := range size {
		s := batches[0].Stats(i)
		bytes += t.bytes(&queries[i%len(queries)], s) / float64(size)
		work[0] += float64(s.Supers) / float64(size)
		work[1] += float64(s.Ranges) / float64(size)
		work[2] += float64(s.Candidates) / float64(size)
		work[3] += float64(s.Rounds) / float64(size)
	}
	f.Supers, f.Ranges, f.Candidates, f.Rounds = work[0], work[1], work[2], work[3]
	hits := make([]base.Hit, 0, k*size+1)
	began := time.Now()
	n := 0
	limit := time.Duration(t.options.seconds * float64(time.Second))
	for ; n < 2 || time.Since(began) < limit && (t.options.batches == 0 || n < t.options.batches); n++ {
		b, s := batches[n%2], streams[n%2]
		if n >= 2 {
			if err := b.Wait(); err != nil {
				return err
			}
			hits = hits[:0]
			for i := range size {
				hits = b.AppendHits(hits, i)
			}
		}
		if err := t.fill(b, queries, n*size, size); err != nil {
			return err
		}
		if err := b.Launch(s); err != nil {
			return err
		}
	}
	for i := range batches {
		if err := batches[i].Wait(); err != nil {
			return err
		}
	}
	figure.WallPerS = float64(size*n) / time.Since(began).Seconds()
	device, err := t.deviceTime(batches[0], streams[0], queries, size, min(n, 20))
	if err != nil {
		return err
	}
	figure.DevicePerS = float64(size) / device.Seconds()
	if k > 0 {
		figure.BytesPerS = figure.DevicePerS * bytes / 1e9
		figure.CopyPercent = 100 * figure.BytesPerS / t.copyGBs
	}
	f.Batches = append(f.Batches, figure)
	return errors.Join(batches[0].Close(), batches[1].Close(), streams[0].Close(), streams[1].Close())
}

// The median of several batches, run one at a time.
func (t *target) deviceTime(b *imagesearch.Batch, s *cuda.Stream, queries []imagesearch.Query, size, times int) (time.Duration, error) {
	var took []time.Duration
	for i := range times {
		if err := t.fill(b, queries, i*size, size); err != nil {
			return 0, err
		}
		if err := errors.Join(b.Launch(s), b.Wait()); err != nil {
			return 0, err
		}
		d, err := b.Elapsed()
		if err != nil {
			return 0, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// A lower bound of the image bytes that a query reads, from its statistics: the bounds of all
// superblocks, the bounds of the ranges in visited superblocks, and sectors of 32 bytes for
// scattered reads, three per list and range and two per list and candidate. Queries by probes
// read two sectors per list and posting of the shortest list.
func (t *target) bytes(q *imagesearch.Query, s imagesearch.Stats) float64 {
	const sector = 32
	terms, bounded := float64(len(q.Terms)), 0.0
	for i := range q.Terms {
		if shape := q.Terms[i].Image.Shape(); shape.DocFreq*1024 >= shape.NumDocs {
			bounded++
		}
	}
	if s.Ranges == 0 && q.Mode != imagesearch.Or {
		return float64(s.Supers) * 32 * (5 + 2*sector*(terms-1))
	}
	return float64(t.numDocs)/4096*terms + float64(s.Supers)*128*bounded + float64(s.Ranges)*3*sector*terms + float64(s.Candidates)*2*sector*terms
}

func (t *target) singles(f *figure, queries []imagesearch.Query) error {
	s, err := t.kernels.NewSingle(0)
	if err != nil {
		return err
	}
	s.SetStay(true) // as the engine, if nothing else runs
	hits := make([]base.Hit, 0, imagesearch.MaxK)
	round := func(each func(i int, took time.Duration) error) error {
		for i := range queries {
			began := time.Now()
			if err := s.Search(t.stream, t.segment, &queries[i]); err != nil {
				return err
			}
			hits = s.AppendHits(hits[:0])
			if err := each(i, time.Since(began)); err != nil {
				return err
			}
		}
		return nil
	}
	f.SingleRanges = 0
	s.SetCounted(true)
	if err := round(func(int, time.Duration) error {
		f.SingleRanges += float64(s.Stats().Ranges) / float64(len(queries))
		return nil
	}); err != nil {
		return err
	}
	s.SetCounted(false)
	var took []float64
	for range 3 {
		if err := round(func(_ int, d time.Duration) error {
			took = append(took, float64(d.Nanoseconds())/1e3)
			f.SingleMean += took[len(took)-1]
			return nil
		}); err != nil {
			return err
		}
	}
	f.SingleMean /= float64(len(took))
	f.SingleP50, f.SingleP99 = quantile(took, 0.5), quantile(took, 0.99)
	s.SetTimed(true)
	took = took[:0]
	if err := round(func(int, time.Duration) error {
		d, err := s.Elapsed()
		took = append(took, float64(d.Nanoseconds())/1e3)
		return err
	}); err != nil {
		return err
	}
	f.SingleDev = quantile(took, 0.5)
	return s.Close()
}

// quantile sorts v and returns the value of rank ceil(q*len(v)) from 1.
func quantile(v []float64, q float64) float64 {
	slices.Sort(v)
	return v[rank(len(v), q)]
}

// The index of the quantile q in n > 0 sorted values.
func rank(n int, q float64) int {
	return min(max(int(math.Ceil(q*float64(n)))-1, 0), n-1)
}
