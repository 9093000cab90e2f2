package imagesearch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Limits are the capacity of a Batch.
type Limits struct {
	Queries int
	Terms   int // of all queries
	Hits    int // the sum of K
	// Keys is the device memory, in words of 64 bits, for the hits of blocks that share a query; 0: MaxKeys. With fewer, fewer
	// queries get several blocks.
	Keys int
}

// Stats counts the work of a query.
type Stats struct {
	Supers     int64 // superblocks whose range bounds were summed, or groups of 32 postings looked up
	Ranges     int64 // scored ranges of 32 documents
	Candidates int64 // documents with an exact score
	Rounds     int64 // scored lists of ranges
}

// Batch answers several queries over one segment together. Call order: Reset, Add for each
// query, Launch, Wait; the answers are then valid until the next Reset. Not safe for
// concurrent use.
type Batch struct {
	kernels *Kernels
	limits  Limits
	segment Segment

	memory batchMemory
	failed bool // states are not known to be 0

	sorted []uint64 // scratch of sortTerms

	numQueries, numParams, numTerms, numHits, numKeys int

	maxTerms, maxK int      // of one query
	answers        []answer // of each query
	jobs           [numJobs][]job
	launches       uint32
}

// cost is in units of a block's work.
type job struct {
	query, splits uint32
	cost          uint64
}

// answer has the index of a query's first hit; for a wide query also the bits of a key's
// DocID.
type answer struct {
	firstHit int
	keyShift uint
}

// The launches of a batch, in order.
const (
	jobProbe = iota
	jobRanges
	jobProbeWide
	jobRangesWide
	jobProbeWords
	jobRangesWords
	jobProbeCompact
	jobRangesCompact
	jobRangesFiltered
	jobCount
	jobCountWords
	jobCountCompact
	numJobs

	jobWide    = jobProbeWide - jobProbe    // offset of the jobs of wide queries
	jobWords   = jobProbeWords - jobProbe   // offset of the jobs of queries with Parts
	jobCompact = jobProbeCompact - jobProbe // offset of the jobs of other queries with packed lists
)

// NewBatch allocates the memory of a batch.
func (k *Kernels) NewBatch(limits Limits) (*Batch, error) {
	if limits.Queries < 1 || limits.Terms < 1 || limits.Hits < 0 || limits.Keys < 0 {
		return nil, fmt.Errorf("batch of %+v: %w", limits, base.ErrBadInput)
	}
	if limits.Keys == 0 {
		limits.Keys = MaxKeys
	}
	b := &Batch{kernels: k, limits: limits, answers: make([]answer, limits.Queries), failed: true, sorted: make([]uint64, 0, MaxTerms)}
	for i := range b.jobs {
		b.jobs[i] = make([]job, 0, limits.Queries)
	}
	if err := b.memory.allocate(k, limits); err != nil {
		return nil, errors.Join(fmt.Errorf("batch of %+v: %w", limits, err), b.Close())
	}
	return b, nil
}

// Close frees the batch's memory. No launch may be running.
func (b *Batch) Close() error { return b.memory.free() }

// Reset removes the queries and sets the segment of the next ones.
func (b *Batch) Reset(segment Segment) {
	b.segment = segment
	b.numQueries, b.numParams, b.numTerms, b.numHits = 0, 0, 0, 0
	b.maxTerms, b.maxK = 0, 0
	for i := range b.jobs {
		b.jobs[i] = b.jobs[i][:0]
	}
}

// Len returns the number of queries.
func (b *Batch) Len() int { return b.numQueries }

// Add adds a query and returns its index, without allocation. Errors: ErrFull,
// ErrUnsuited, or one that wraps base.ErrBadInput.
func (b *Batch) Add(q *Query) (int, error) {
	w, err := q.check(&b.segment)
	if err != nil {
		return 0, err
	}
	if w.wide() {
		err = b.kernels.wide()
	}
	if q.asParts() {
		err = errors.Join(err, b.kernels.words())
	}
	if err != nil {
		return 0, err
	}
	slots := q.slots()
	if sharedBytes(slots, minWindow, capacity(q.K)) > b.kernels.shared {
		return 0, fmt.Errorf("shared memory for %d terms and %d hits: %w", slots, q.K, ErrUnsuited)
	}
	maxTerms, maxK := max(b.maxTerms, slots), max(b.maxK, q.K)
	if sharedBytes(maxTerms, minWindow, capacity(maxK)) > b.kernels.shared {
		return 0, ErrFull // another batch has room
	}
	if b.numQueries == b.limits.Queries || b.numTerms+slots > b.limits.Terms || b.numHits+q.K > b.limits.Hits {
		return 0, ErrFull
	}
	i := b.numQueries
	b.memory.results.Data()[i] = result{}
	b.answers[i] = answer{b.numHits, w.keyShift}
	if q.Mode == And {
		b.add(q, w, q.intersecting(), flagAll)
	} else {
		b.add(q, w, jobRanges, 0)
	}
	b.numQueries++
	b.numHits += q.K
	b.maxTerms, b.maxK = maxTerms, maxK
	return i, nil
}

// intersecting returns the job that finds the best hits of an And query: by the shortest list if it has few documents, else
// by ranges.
func (q *Query) intersecting() int {
	for i := range q.Terms {
		if s := &q.Terms[i].Image.shape; s.DocFreq < (s.NumDocs+probeShare-1)/probeShare {
			return jobProbe
		}
	}
	return jobRanges
}

func (b *Batch) add(q *Query, w width, kind int, flags uint32) {
	p := queryParams{
		filter: q.Filter.Ptr(), firstTerm: uint32(b.numTerms), numTerms: uint32(len(q.Terms)), k: uint32(q.K),
		threshold: narrow(q.Threshold, w.shift), firstHit: uint32(b.numHits), result: uint32(b.numQueries), flags: flags,
		keyShift: uint32(w.keyShift), scoreShift: uint32(w.keyShift + w.shift),
	}
	if flags&flagAll == 0 {
		p.threshold = q.threshold(&b.segment, w.shift)
	}
	if kind == jobProbe {
		p.flags |= flagProbe
	}
	order := b.sortTerms(q, kind == jobProbe)
	terms := b.memory.terms.Data()[b.numTerms:][:q.slots()]
	if q.asParts() {
		terms = b.putParts(q, terms, order)
		p.firstTerm++
		p.flags |= uint32(len(q.Excluded)) << excludedShift
	}
	most, compact := uint64(0), false
	for i, t := range order {
		q.Terms[uint16(t)].put(&terms[i], w.shift)
		most += uint64(terms[i].step) * math.MaxUint8
		switch terms[i].kind {
		case uint32(dense):
			p.numDense++
		case uint32(packed):
			compact = true
		}
		if terms[i].kind != uint32(sparse) {
			p.numBounded++
		}
	}
	if most > uint64(p.threshold) {
		p.bucketShift = uint32(max(bits.Len64(most-uint64(p.threshold))-bits.Len(numBuckets-1), 0))
	}
	count := jobCount
	switch {
	case q.asParts():
		count = jobCountWords
	case compact:
		count = jobCountCompact
	}
	if q.K > 0 {
		job := kind
		switch {
		case w.wide():
			job += jobWide
		case q.asParts():
			job += jobWords
		case kind == jobRanges && p.filter != 0:
			job = jobRangesFiltered
		case compact:
			job += jobCompact
		}
		b.addJob(job, &p, cost(kind, &p, terms))
	}
	if q.Count {
		b.addJob(count, &p, b.countCost(kind, &p, terms))
	}
	b.numTerms += q.slots()
}

// putParts writes the parts to the first slot and the excluded terms behind the others, which order sorts. It returns
// the slots of these.
func (b *Batch) putParts(q *Query, slots []termParams, order []uint64) (terms []termParams) {
	words := [partWords]uint32{1: uint32(len(q.Clauses))}
	for i, t := range order {
		if !q.narrowsTerms() {
			break // there may be more terms than bits
		}
		words[0] |= q.Required >> uint16(t) & 1 << i
		for j, c := range q.Clauses {
			words[2+j] |= c >> uint16(t) & 1 << i
		}
	}
	to := b.memory.terms.Bytes()[b.numTerms*termBytes:][:0]
	for _, w := range words {
		to = binary.NativeEndian.AppendUint32(to, w)
	}
	for i := range q.Excluded {
		slots[1+len(q.Terms)+i] = q.Excluded[i].Image.term
	}
	return slots[1 : 1+len(q.Terms)]
}

// addJob copies the parameters.
func (b *Batch) addJob(kind int, p *queryParams, cost uint64) {
	b.memory.queries.Data()[b.numParams] = *p
	b.jobs[kind] = append(b.jobs[kind], job{uint32(b.numParams), 1, cost})
	b.numParams++
}

// sortTerms returns the indexes of the terms, in the low 16 bits: by rising list length, but dense lists last, or
// by kind: dense, packed, bounded, sparse.
func (b *Batch) sortTerms(q *Query, byLength bool) []uint64 {
	b.sorted = b.sorted[:0]
	for i := range q.Terms {
		m := &q.Terms[i].Image
		key := uint64(m.shape.DocFreq)<<16 | uint64(i)
		if !byLength {
			key |= uint64(dense-m.kind) << 48
		} else if m.kind == dense {
			key |= 1 << 48
		}
		b.sorted = append(b.sorted, key)
	}
	slices.Sort(b.sorted)
	return b.sorted
}

// put uses steps in units of 2^shift.
func (t *Term) put(p *termParams, shift uint) {
	*p = t.Image.term
	p.lengths = t.Lengths.Ptr()
	p.weight, p.c0, p.c1 = t.Term.Weight, t.Term.C0, t.Term.C1
	if t.Term.Linear {
		p.linear = 1
	}
	p.step = uint32(t.step(shift))
	p.satStep, p.maxStep = p.step, p.step
}

// Launch launches the queries in a stream, in one kernel if all are Or. Images and bitmaps
// must stay valid until Wait. After an error nothing is running.
func (b *Batch) Launch(s *cuda.Stream) error {
	if err := b.launch(s); err != nil {
		return abandon(s, err)
	}
	return nil
}

// abandon waits for the launches that precede err, because they use the memory of the next
// queries.
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
	if err := s.Record(b.memory.begun); err != nil {
		return err
	}
	from := 0
	for kind, jobs := range b.jobs {
		if len(jobs) == 0 {
			continue
		}
		n := b.place(jobs, from)
		p := b.params(supers)
		p.blocks = b.memory.blocks.DevicePtr() + cuda.Ptr[blockParams](8*from)
		if err := b.start(s, b.kernels.kernel(kind), n, &p); err != nil {
			return fmt.Errorf("batch of %d queries: %w", b.numQueries, err)
		}
		from += n
	}
	if err := s.Record(b.memory.ended); err != nil {
		return err
	}
	b.failed = false
	return nil
}

// prepare clears the states if the previous launch failed. failed stays true until this
// launch succeeds.
func (b *Batch) prepare(s *cuda.Stream) error {
	if err := b.reserve(); err != nil {
		return err
	}
	if b.failed {
		if err := cuda.Fill(s, b.memory.states, 0); err != nil {
			return err
		}
	}
	b.failed = true
	return nil
}

// place writes the blocks of the jobs by falling cost and returns their number.
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
			b.memory.blocks.Data()[at] = blockParams{j.query, split}
			at++
		}
	}
	return at - from
}

func (k *Kernels) kernel(kind int) *cuda.Kernel {
	switch kind {
	case jobProbe:
		return k.probe
	case jobProbeWide:
		return k.variants.wides.probe
	case jobRangesWide:
		return k.variants.wides.ranges
	case jobProbeWords:
		return k.variants.parts.probe
	case jobRangesWords:
		return k.variants.parts.ranges
	case jobRangesFiltered:
		return k.variants.filtered.ranges
	case jobCount:
		return k.count
	case jobProbeCompact:
		return k.variants.compact.probe
	case jobRangesCompact:
		return k.variants.compact.ranges
	case jobCountCompact:
		return k.variants.compact.count
	case jobCountWords:
		return k.variants.parts.count
	}
	return k.ranges
}

func (b *Batch) start(s *cuda.Stream, kernel *cuda.Kernel, blocks int, p *searchParams) error {
	shared := sharedBytes(int(p.maxTerms), int(p.window), int(p.capacity))
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(s, kernel, cuda.D1(blocks), cuda.D1(threads), shared, p)
}

// supers is the maximum of a block.
func (b *Batch) params(supers int) searchParams {
	keys := capacity(b.maxK)
	return searchParams{
		queries: b.memory.queries.DevicePtr(), terms: b.memory.terms.DevicePtr(), results: b.memory.results.DevicePtr(), hits: b.memory.hits.DevicePtr(),
		live: b.segment.Live.Ptr(), states: b.memory.states.Ptr(), keys: b.memory.keys.Ptr(),
		numDocs: uint32(b.segment.NumDocs), maxTerms: uint32(b.maxTerms), capacity: uint32(keys),
		window: uint32(b.kernels.windowFor(supers, b.maxTerms, keys)),
	}
}

// Wait waits until the launch has ended. After an error there are no answers.
func (b *Batch) Wait() error { return b.memory.ended.Synchronize() }

// Elapsed returns the device time of the launch, after Wait.
func (b *Batch) Elapsed() (time.Duration, error) { return b.memory.ended.Elapsed(b.memory.begun) }

// AppendHits appends the hits of query i to dst, best first.
func (b *Batch) AppendHits(dst []base.Hit, i int) []base.Hit {
	a := &b.answers[i]
	keys := b.memory.hits.Data()[a.firstHit:][:b.memory.results.Data()[i].numHits]
	if a.keyShift > 0 {
		mask := uint64(1)<<a.keyShift - 1
		for _, key := range keys {
			dst = append(dst, base.Hit{DocID: b.segment.Base + base.DocID(^key&mask), Score: base.Score(key >> a.keyShift)})
		}
		return dst
	}
	for _, key := range keys {
		dst = append(dst, base.Hit{DocID: b.segment.Base + base.DocID(^uint32(key)), Score: base.Score(key >> 32)})
	}
	return dst
}

// Count returns the number of matches of query i, which must have Count set.
func (b *Batch) Count(i int) uint64 { return b.memory.results.Data()[i].count }

// Stats returns the work of query i.
func (b *Batch) Stats(i int) Stats {
	r := &b.memory.results.Data()[i]
	return Stats{int64(r.supers), int64(r.ranges), int64(r.candidates), int64(r.rounds)}
}
