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
	segment Segment

	// Page-locked, and read and written by the kernels over the bus.
	queries cuda.HostBuffer[queryParams]
	terms   cuda.HostBuffer[termParams]
	blocks  cuda.HostBuffer[blockParams]
	results cuda.HostBuffer[result]
	hits    cuda.HostBuffer[uint64]
	// On the device.
	docIDs cuda.Buffer[uint32]
	states cuda.Buffer[splitState] // all 0 between launches, unless failed
	keys   cuda.Buffer[uint64]
	failed bool

	sorted []uint64 // scratch of sortTerms

	numQueries, numParams, numTerms, numHits, numDocIDs, numKeys int

	maxTerms, maxK int // of one query
	emitted        []emitted
	jobs           [numJobs][]job
	launches       uint32
	begun, ended   *cuda.Event
}

// emitted says where the DocIDs of a query are, and its first hit.
type emitted struct{ from, room, firstHit int }

// job is a query of a launch: its number in queries, and what it may cost, in what
// is worth a block.
type job struct {
	query, splits uint32
	cost          uint64
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
func (k *Kernels) NewBatch(limits Limits) (*Batch, error) {
	if limits.Queries < 1 || limits.Terms < 1 || limits.Hits < 0 || limits.DocIDs < 0 {
		return nil, fmt.Errorf("batch of %+v: %w", limits, base.ErrBadInput)
	}
	b := &Batch{kernels: k, limits: limits, emitted: make([]emitted, limits.Queries), failed: true, sorted: make([]uint64, 0, MaxTerms)}
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
	if b.blocks, err = cuda.AllocHost[blockParams](d, numJobs*(l.Queries+b.kernels.spareBlocks())); err != nil {
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
	if b.states, err = cuda.Alloc[splitState](d, l.Queries); err != nil {
		return err
	}
	if b.begun, err = d.NewEvent(true); err != nil {
		return err
	}
	b.ended, err = d.NewEvent(true)
	return err
}

// Close frees the batch's memory. No launch may be under way.
func (b *Batch) Close() error {
	errs := []error{
		b.queries.Free(), b.terms.Free(), b.blocks.Free(), b.results.Free(), b.hits.Free(),
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
	if sharedBytes(len(q.Terms), minWindow, capacity(q.K)) > b.kernels.shared {
		return 0, fmt.Errorf("shared memory for %d terms and %d hits: %w", len(q.Terms), q.K, ErrUnsuited)
	}
	maxTerms, maxK := max(b.maxTerms, len(q.Terms)), max(b.maxK, q.K)
	if sharedBytes(maxTerms, minWindow, capacity(maxK)) > b.kernels.shared {
		return 0, ErrFull // beside others; in another batch there is room
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
	b.maxTerms, b.maxK = maxTerms, maxK
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
	most := uint64(0)
	for i, t := range b.sortTerms(q, kind == jobProbe || flags&(flagAll|flagCount) == flagAll|flagCount) {
		q.Terms[uint16(t)].put(&terms[i])
		most += uint64(terms[i].step) * math.MaxUint8
		p.numDense += terms[i].dense
		p.numBounded += terms[i].bounded
	}
	if most > uint64(p.threshold) {
		p.bucketShift = uint32(max(bits.Len64(most-uint64(p.threshold))-bits.Len(numBuckets-1), 0))
	}
	if q.K > 0 {
		b.addJob(kind, &p, cost(kind, &p, terms))
	}
	if q.Want != 0 {
		b.addJob(jobCount, &p, b.countCost(&p, terms))
	}
	b.numTerms += len(terms)
}

// addJob adds a job, which has parameters of its own.
func (b *Batch) addJob(kind int, p *queryParams, cost uint64) {
	b.queries.Data()[b.numParams] = *p
	b.jobs[kind] = append(b.jobs[kind], job{uint32(b.numParams), 1, cost})
	b.numParams++
}

// sortTerms returns the numbers of the terms, in the low 16 bits: from the shortest list
// up, or dense ones first and then those with bounds of ranges.
func (b *Batch) sortTerms(q *Query, byLength bool) []uint64 {
	b.sorted = b.sorted[:0]
	for i := range q.Terms {
		m := &q.Terms[i].Image
		key := uint64(m.shape.DocFreq)<<16 | uint64(i)
		if !byLength {
			key |= uint64(dense-m.kind) << 48
		}
		b.sorted = append(b.sorted, key)
	}
	slices.Sort(b.sorted)
	return b.sorted
}

// put writes the term as the kernels read it.
func (t *Term) put(p *termParams) {
	*p = t.Image.term
	p.lengths = t.Lengths.Ptr()
	p.weight, p.c0, p.c1 = t.Score.Weight, t.Score.C0, t.Score.C1
	if t.Score.Linear {
		p.linear = 1
	}
	p.step = t.step()
	p.satStep, p.maxStep = p.step, p.step
}

// Launch puts the queries into a stream, all in one launch if they are all Or. What
// the images and bitmaps of the queries lie in must stay until Wait. After an error
// nothing is under way.
func (b *Batch) Launch(s *cuda.Stream) error {
	if err := b.launch(s); err != nil {
		return abandon(s, err)
	}
	return nil
}

// abandon waits for what was put into a stream before err: it reads and writes the
// memory that the next queries use. It returns err.
func abandon(s *cuda.Stream, err error) error {
	if failed := s.Synchronize(); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

func (b *Batch) launch(s *cuda.Stream) error {
	b.launches++
	supers := b.plan()
	if err := b.prepare(s); err != nil {
		return err
	}
	if err := s.Record(b.begun); err != nil {
		return err
	}
	from := 0
	for kind, jobs := range b.jobs {
		if len(jobs) == 0 {
			continue
		}
		n := b.place(jobs, from)
		p := b.params(supers)
		p.blocks = b.blocks.DevicePtr() + cuda.Ptr[blockParams](8*from)
		if err := b.start(s, b.kernels.kernel(kind), n, &p); err != nil {
			return fmt.Errorf("batch of %d queries: %w", b.numQueries, err)
		}
		from += n
	}
	if err := s.Record(b.ended); err != nil {
		return err
	}
	b.failed = false
	return nil
}

// prepare makes room for the keys of the queries, and makes the states 0 if a launch
// before has failed. Until the next one has not, they are not known to be.
func (b *Batch) prepare(s *cuda.Stream) error {
	if err := b.reserve(); err != nil {
		return err
	}
	if b.failed {
		if err := cuda.Fill(s, b.states, 0); err != nil {
			return err
		}
	}
	b.failed = true
	return nil
}

// place writes the blocks of jobs, costly ones first, and returns how many there are.
func (b *Batch) place(jobs []job, from int) int {
	slices.SortFunc(jobs, func(x, y job) int {
		if x.cost != y.cost {
			return cmp.Compare(y.cost, x.cost)
		}
		return int(x.query) - int(y.query)
	})
	at := from
	for _, j := range jobs {
		for split := range j.splits {
			b.blocks.Data()[at] = blockParams{j.query, split}
			at++
		}
	}
	return at - from
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

// start starts a kernel.
func (b *Batch) start(s *cuda.Stream, kernel *cuda.Kernel, blocks int, p *searchParams) error {
	shared := sharedBytes(int(p.maxTerms), int(p.window), int(p.capacity))
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(s, kernel, cuda.D1(blocks), cuda.D1(threads), shared, p)
}

// params returns the parameters that all launches share. supers is the most
// superblocks that a block has.
func (b *Batch) params(supers int) searchParams {
	keys := capacity(b.maxK)
	return searchParams{
		queries: b.queries.DevicePtr(), terms: b.terms.DevicePtr(), results: b.results.DevicePtr(), hits: b.hits.DevicePtr(),
		live: b.segment.Live.Ptr(), states: b.states.Ptr(), keys: b.keys.Ptr(),
		numDocs: uint32(b.segment.NumDocs), maxTerms: uint32(b.maxTerms), capacity: uint32(keys),
		window: uint32(b.kernels.windowFor(supers, b.maxTerms, keys)),
	}
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
