package fastpath

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Limits is how much a Batch has room for.
type Limits struct {
	Queries int
	Terms   int // of all queries; of AndOr queries twice
	Hits    int // the sum of K
	DocIDs  int // the sum of the shortest lists' DocFreq, of queries that ask for DocIDs
}

// Stats counts the work of a query.
type Stats struct {
	Supers     int64 // superblocks whose ranges' bounds were summed, or groups of 32 postings looked up
	Ranges     int64 // ranges of 32 documents that were scored
	Candidates int64 // documents whose score was computed in full
	Rounds     int64 // times that a block stopped to score the ranges it had collected
}

// Batch is a number of queries over one segment that are answered together. Order of
// calls: Reset, Add for each query, Launch, Wait, then what it holds may be read until
// the next Reset. It belongs to one goroutine at a time.
type Batch struct {
	kernels *Kernels
	limits  Limits
	splits  int // blocks a query
	segment Segment

	// Page-locked, and read and written by the kernels over the bus.
	queries cuda.HostBuffer[queryParams]
	terms   cuda.HostBuffer[termParams]
	order   cuda.HostBuffer[uint32]
	results cuda.HostBuffer[result]
	hits    cuda.HostBuffer[uint64]
	// On the device.
	docIDs cuda.Buffer[uint32]
	states cuda.Buffer[splitState]
	keys   cuda.Buffer[uint64]

	numQueries, numParams, numTerms, numHits, numDocIDs int

	maxTerms, maxK int // of one query
	emitted        []emitted
	jobs           [numJobs][]job
	launches       uint32
	begun, ended   *cuda.Event
}

// emitted says where the DocIDs of a query are, and its first hit.
type emitted struct{ from, room, firstHit int }

// job is a query of a launch: its number in queries, and what it may cost.
type job struct {
	query uint32
	cost  uint64
}

// The launches of a batch, in order.
const (
	jobProbe = iota
	jobRanges
	jobRetry // AndOr queries that had too few hits
	jobCount
	numJobs
)

// NewBatch allocates the memory of a batch.
func (k *Kernels) NewBatch(limits Limits) (*Batch, error) { return k.newBatch(limits, 1) }

func (k *Kernels) newBatch(limits Limits, splits int) (*Batch, error) {
	if limits.Queries < 1 || limits.Terms < 1 || limits.Hits < 0 || limits.DocIDs < 0 {
		return nil, fmt.Errorf("batch of %+v: %w", limits, base.ErrBadInput)
	}
	b := &Batch{kernels: k, limits: limits, splits: splits, emitted: make([]emitted, limits.Queries)}
	for i := range b.jobs {
		b.jobs[i] = make([]job, 0, limits.Queries)
	}
	if err := b.allocate(); err != nil {
		return nil, errors.Join(fmt.Errorf("batch of %+v: %w", limits, err), b.Close())
	}
	return b, nil
}

func (b *Batch) allocate() (err error) {
	d, l := b.kernels.device, b.limits
	if b.queries, err = cuda.AllocHost[queryParams](d, 2*l.Queries); err != nil {
		return err
	}
	if b.terms, err = cuda.AllocHost[termParams](d, l.Terms); err != nil {
		return err
	}
	if b.order, err = cuda.AllocHost[uint32](d, numJobs*l.Queries); err != nil {
		return err
	}
	if b.results, err = cuda.AllocHost[result](d, l.Queries); err != nil {
		return err
	}
	if b.hits, err = cuda.AllocHost[uint64](d, l.Hits); err != nil {
		return err
	}
	if b.docIDs, err = cuda.Alloc[uint32](d, l.DocIDs); err != nil {
		return err
	}
	if b.begun, err = d.NewEvent(true); err != nil {
		return err
	}
	if b.ended, err = d.NewEvent(true); err != nil {
		return err
	}
	return b.allocateSplits()
}

// allocateSplits allocates what the blocks of a query share.
func (b *Batch) allocateSplits() (err error) {
	if b.splits == 1 {
		return nil
	}
	d := b.kernels.device
	if b.keys, err = cuda.Alloc[uint64](d, b.limits.Queries*b.splits*MaxK); err != nil {
		return err
	}
	if b.states, err = cuda.Alloc[splitState](d, b.limits.Queries); err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	return errors.Join(cuda.Fill(s, b.states, 0), s.Synchronize(), s.Close())
}

// Close frees the batch's memory. No launch may be under way.
func (b *Batch) Close() error {
	errs := []error{
		b.queries.Free(), b.terms.Free(), b.order.Free(), b.results.Free(), b.hits.Free(),
		b.docIDs.Free(), b.states.Free(), b.keys.Free(),
	}
	for _, e := range []*cuda.Event{b.begun, b.ended} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}

// Reset empties the batch for queries over a segment.
func (b *Batch) Reset(segment Segment) {
	b.segment = segment
	b.numQueries, b.numParams, b.numTerms, b.numHits, b.numDocIDs = 0, 0, 0, 0, 0
	b.maxTerms, b.maxK = 0, 0
	for i := range b.jobs {
		b.jobs[i] = b.jobs[i][:0]
	}
}

// Len returns the number of queries added since Reset.
func (b *Batch) Len() int { return b.numQueries }

// Add adds a query and returns its number. Errors: ErrFull, ErrUnsuited, or one that
// wraps base.ErrBadInput. It allocates nothing.
func (b *Batch) Add(q *Query) (int, error) {
	if err := q.check(&b.segment); err != nil {
		return 0, err
	}
	shortest := q.shortest()
	numTerms, room := len(q.Terms), 0
	if q.Mode == AndOr {
		numTerms *= 2
	}
	if q.Want&WantDocIDs != 0 {
		room = shortest
	}
	if b.numQueries == b.limits.Queries || b.numTerms+numTerms > b.limits.Terms ||
		b.numHits+q.K > b.limits.Hits || b.numDocIDs+room > b.limits.DocIDs {
		return 0, ErrFull
	}
	i := b.numQueries
	b.results.Data()[i] = result{}
	b.emitted[i] = emitted{b.numDocIDs, room, b.numHits}
	switch q.Mode {
	case Or:
		b.add(q, jobRanges, 0)
	case And:
		b.add(q, q.intersecting(), flagAll)
	case AndOr:
		b.add(q, q.intersecting(), flagAll)
		b.add(q, jobRetry, flagRetry)
	}
	b.numQueries++
	b.numHits += q.K
	b.numDocIDs += room
	b.maxTerms, b.maxK = max(b.maxTerms, len(q.Terms)), max(b.maxK, q.K)
	return i, nil
}

// shortest returns the length of the shortest list.
func (q *Query) shortest() int {
	n := math.MaxInt
	for i := range q.Terms {
		n = min(n, q.Terms[i].Image.shape.DocFreq)
	}
	return n
}

// intersecting returns the job that finds the best hits of an And query: by ranges
// if all lists have bitmaps.
func (q *Query) intersecting() int {
	for i := range q.Terms {
		if q.Terms[i].Image.kind != dense {
			return jobProbe
		}
	}
	return jobRanges
}

// add writes the parameters of a query and puts it among the jobs.
func (b *Batch) add(q *Query, kind int, flags uint32) {
	p := queryParams{
		filter: q.Filter.Ptr(), firstTerm: uint32(b.numTerms), numTerms: uint32(len(q.Terms)), k: uint32(q.K),
		threshold: uint32(min(q.Threshold, maxThreshold)), firstHit: uint32(b.numHits), result: uint32(b.numQueries),
	}
	if flags&flagAll == 0 {
		p.threshold = q.threshold(&b.segment)
	}
	if q.Want != 0 {
		flags |= flagCount
	}
	if q.Want&WantDocIDs != 0 {
		flags |= flagEmit
		p.docIDs = b.docIDs.Ptr() + cuda.Ptr[uint32](4*b.numDocIDs)
	}
	p.flags = flags
	terms := b.terms.Data()[b.numTerms:][:len(q.Terms)]
	most, cost := uint64(0), uint64(0)
	for i := range terms {
		terms[i] = q.Terms[i].params()
		most += uint64(terms[i].step) * math.MaxUint8
		cost += uint64(terms[i].docFreq)
		p.numDense += terms[i].dense
	}
	if kind == jobProbe || flags&(flagAll|flagCount) == flagAll|flagCount {
		slices.SortFunc(terms, func(x, y termParams) int { return cmp.Compare(x.docFreq, y.docFreq) })
		cost = uint64(terms[0].docFreq)
	} else {
		slices.SortFunc(terms, func(x, y termParams) int {
			return cmp.Or(cmp.Compare(y.dense, x.dense), cmp.Compare(x.docFreq, y.docFreq))
		})
	}
	if most > uint64(p.threshold) {
		p.bucketShift = uint32(max(bits.Len64(most-uint64(p.threshold))-bits.Len(numBuckets-1), 0))
	}
	b.queries.Data()[b.numParams] = p
	j := job{uint32(b.numParams), cost}
	if q.K > 0 {
		b.jobs[kind] = append(b.jobs[kind], j)
	}
	if q.Want != 0 {
		b.jobs[jobCount] = append(b.jobs[jobCount], j)
	}
	b.numParams++
	b.numTerms += len(terms)
}

// params returns the term as the kernels read it.
func (t *Term) params() termParams {
	p := t.Image.params()
	p.lengths = t.Lengths.Ptr()
	p.weight, p.c0, p.c1 = t.Score.Weight, t.Score.C0, t.Score.C1
	if t.Score.Linear {
		p.linear = 1
	}
	p.step = t.step()
	return p
}

// Launch puts the queries into a stream, all in one launch if they are all Or. What
// the images and bitmaps of the queries lie in must stay until Wait.
func (b *Batch) Launch(s *cuda.Stream) error {
	b.launches++
	if err := s.Record(b.begun); err != nil {
		return err
	}
	from := 0
	for kind, jobs := range b.jobs {
		if len(jobs) == 0 {
			continue
		}
		slices.SortFunc(jobs, func(x, y job) int { return cmp.Or(cmp.Compare(y.cost, x.cost), cmp.Compare(x.query, y.query)) })
		order := b.order.Data()[from:][:len(jobs)]
		for i, j := range jobs {
			order[i] = j.query
		}
		if err := b.launch(s, kind, from, len(jobs)); err != nil {
			return fmt.Errorf("batch of %d queries: %w", b.numQueries, err)
		}
		from += len(jobs)
	}
	return s.Record(b.ended)
}

// kernel returns the kernel of a kind of job.
func (k *Kernels) kernel(kind int) *cuda.Kernel {
	switch kind {
	case jobProbe:
		return k.probe
	case jobCount:
		return k.count
	}
	return k.ranges
}

// launch launches n jobs, at order[from:].
func (b *Batch) launch(s *cuda.Stream, kind, from, n int) error {
	p := b.params()
	p.order = b.order.DevicePtr() + cuda.Ptr[uint32](4*from)
	return b.start(s, b.kernels.kernel(kind), n*b.splits, &p)
}

// start starts a kernel.
func (b *Batch) start(s *cuda.Stream, kernel *cuda.Kernel, blocks int, p *searchParams) error {
	shared := b.sharedBytes(p)
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(s, kernel, cuda.D1(blocks), cuda.D1(threads), shared, p)
}

// params returns the parameters that all launches share.
func (b *Batch) params() searchParams {
	supers := numSupers(b.segment.NumDocs)
	return searchParams{
		queries: b.queries.DevicePtr(), terms: b.terms.DevicePtr(), results: b.results.DevicePtr(), hits: b.hits.DevicePtr(),
		live: b.segment.Live.Ptr(), states: b.states.Ptr(), keys: b.keys.Ptr(),
		numDocs: uint32(b.segment.NumDocs), splits: uint32(b.splits),
		maxTerms: uint32(b.maxTerms), capacity: uint32(capacity(b.maxK)),
		window:   uint32(min((supers+b.splits-1)/b.splits+15, maxWindow)) &^ 15,
		listRoom: listRoom, launch: b.launches, keyStride: uint32(b.splits * MaxK),
	}
}

func (b *Batch) sharedBytes(p *searchParams) int {
	return sharedBytes(int(p.maxTerms), int(p.window), int(p.listRoom), int(p.capacity))
}

// Wait waits until the launch has ended. After an error the answers are not there.
func (b *Batch) Wait() error { return b.ended.Synchronize() }

// Elapsed is the device's time for the launch, after Wait.
func (b *Batch) Elapsed() (time.Duration, error) { return b.ended.Elapsed(b.begun) }

// AppendHits appends the hits of query i to dst, best first.
func (b *Batch) AppendHits(dst []base.Hit, i int) []base.Hit {
	for _, key := range b.hits.Data()[b.emitted[i].firstHit:][:b.results.Data()[i].numHits] {
		dst = append(dst, base.Hit{DocID: b.segment.Base + base.DocID(^uint32(key)), Score: base.Score(key >> 32)})
	}
	return dst
}

// Count returns the number of documents that match query i, which asked for it.
func (b *Batch) Count(i int) uint64 { return b.results.Data()[i].count }

// DocIDs returns the DocIDs that match query i, which asked for them: rising, local to
// the segment, in device memory.
func (b *Batch) DocIDs(i int) cuda.Buffer[uint32] {
	from := b.emitted[i].from
	return b.docIDs.Slice(from, from+int(b.Count(i)))
}

// Stats returns the work of query i.
func (b *Batch) Stats(i int) Stats {
	r := &b.results.Data()[i]
	return Stats{int64(r.supers), int64(r.ranges), int64(r.candidates), int64(r.rounds)}
}
