package imagesearch

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Single answers one query at a time on the whole device, with minimum latency: the query is in
// the launch parameters, and the host polls page-locked memory for the answer. Not safe for
// concurrent use.
type Single struct {
	batch *Batch
	// Search polls this long before it waits in the driver.
	wait time.Duration
	one  oneParams
	few  fewParams
	// Written by queries in the parameters: answerHead words, and two words per hit.
	answer cuda.HostBuffer[uint64]
	// The blocks of the last launch sent their hits, with this state; the next such launch uses the other one.
	sends   bool
	state   uint32
	stay    *stay
	staying bool   // of SetStay
	suited  suited // of the last query
	// Events are recorded around the launches.
	timed bool
	// Stats has the work.
	counted bool
}

// singleWait exceeds the time of all but the longest queries.
const singleWait = 5 * time.Millisecond

// NewSingle allocates the memory for one query. keys is as of Limits.
func (k *Kernels) NewSingle(keys int) (*Single, error) {
	b, err := k.NewBatch(Limits{Queries: 1, Terms: MaxTerms, Hits: MaxK, Keys: keys})
	if err != nil {
		return nil, err
	}
	s := &Single{batch: b, wait: singleWait}
	if s.answer, err = cuda.AllocHost[uint64](k.device, answerHead+2*max(MaxK, sentHits*k.residentOne)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	clear(s.answer.Data()) // words of another Single may have the same launch numbers
	if s.stay, err = newStay(k); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close frees the memory.
func (s *Single) Close() error {
	var err error
	if s.stay != nil {
		err = s.stay.close()
	}
	return errors.Join(err, s.batch.Close(), s.answer.Free())
}

// SetStay sets whether the kernel of the next queries stays on the device for more of them (see stay). The caller sets
// it if nothing else runs on the device, and nothing for which the query must wait was added to the stream since the
// last query.
func (s *Single) SetStay(on bool) { s.staying = on }

// Search answers a query in a stream with no other work, and waits. Errors are as for
// Batch.Add, or the device's.
func (s *Single) Search(stream *cuda.Stream, segment Segment, q *Query) error {
	return s.SearchBeside(stream, segment, q, nil)
}

// SearchBeside is Search, and calls beside, if not nil, after the launch, until the answer is there or it returns false.
func (s *Single) SearchBeside(stream *cuda.Stream, segment Segment, q *Query, beside func() (more bool)) error {
	b := s.batch
	b.Reset(segment)
	if _, err := b.Add(q); err != nil {
		return err
	}
	if q.K == 0 && !q.Count {
		return nil
	}
	if err := s.launch(stream); err != nil {
		return abandon(stream, err)
	}
	return s.await(stream, beside)
}

// AppendHits appends the hits to dst, best first.
func (s *Single) AppendHits(dst []base.Hit) []base.Hit { return s.batch.AppendHits(dst, 0) }

// Count returns the number of matches, if the query had Count set.
func (s *Single) Count() uint64 { return s.batch.Count(0) }

// SetCounted turns Stats on or off: about a microsecond a query.
func (s *Single) SetCounted(counted bool) { s.counted = counted }

// Stats returns the work of the query, if SetCounted is on.
func (s *Single) Stats() Stats { return s.batch.Stats(0) }

// SetTimed turns the measurement of device time on or off: some microseconds a query.
func (s *Single) SetTimed(timed bool) { s.timed = timed }

// Elapsed returns the device time of the last query, if measured. It waits for the end of the
// launch, which is later than the answer.
func (s *Single) Elapsed() (time.Duration, error) {
	if err := s.batch.Wait(); err != nil {
		return 0, err
	}
	return s.batch.Elapsed()
}

func (s *Single) launch(stream *cuda.Stream) error {
	b := s.batch
	s.stay.posted = false
	b.launches++
	if b.launches == 0 { // 0 is the initial value of done; words of earlier launches are cleared
		b.launches++
		clear(s.answer.Data())
	}
	if s.timed {
		if err := stream.Record(b.memory.begun); err != nil {
			return err
		}
	}
	if err := s.launchJobs(stream); err != nil || !s.timed {
		return err
	}
	return stream.Record(b.memory.ended)
}

func (s *Single) launchJobs(stream *cuda.Stream) error {
	b := s.batch
	s.sends = false
	last, keys := 0, 0
	for kind, jobs := range b.jobs {
		for i := range jobs {
			last = kind
			jobs[i].splits = uint32(s.splits(kind, &jobs[i]))
			keys = b.split(kind, &b.memory.queries.Data()[jobs[i].query], jobs[i].splits, keys)
		}
	}
	if err := b.prepare(stream); err != nil {
		return err
	}
	for kind, jobs := range b.jobs {
		for i := range jobs {
			if err := s.launchOne(stream, kind, &jobs[i], kind == last); err != nil {
				return err
			}
		}
	}
	b.failed = false
	return nil
}

// splits returns all blocks that run at the same time, if the job has enough work.
func (s *Single) splits(kind int, j *job) int {
	b := s.batch
	n := b.maxSplits()
	if kind == jobProbe || kind == jobProbeWide || kind == jobProbeWords || kind == jobProbeCompact {
		n = int(min(j.cost*(probeBlock/threads/2), uint64(b.kernels.residentOne)))
	}
	if hasKeys(kind) {
		n = min(n, max(b.limits.Keys/max(b.maxK, 1), 1))
	}
	return min(n, b.kernels.residentOne)
}

// launchOne launches a job; the last one signals the host.
func (s *Single) launchOne(stream *cuda.Stream, kind int, j *job, last bool) error {
	b := s.batch
	supers := numSupers(b.segment.NumDocs)
	p := b.params((supers + int(j.splits) - 1) / int(j.splits))
	if last {
		p.launch = b.launches
	}
	q := &b.memory.queries.Data()[j.query]
	kernel := b.kernels.kernelOne(kind, q)
	if kernel == nil {
		from := kind * (b.limits.Queries + b.kernels.spareBlocks())
		for split := range j.splits {
			b.memory.blocks.Data()[from+int(split)] = blockParams{j.query, split}
		}
		p.blocks = b.memory.blocks.DevicePtr() + cuda.Ptr[blockParams](8*from)
		return b.start(stream, b.kernels.kernel(kind), int(j.splits), &p)
	}
	one := *q
	p.answer = s.answer.DevicePtr()
	if kind != jobProbe && kind != jobProbeCompact {
		p.window = 0
	}
	if s.sends = last && q.k <= sentHits && !s.counted; s.sends {
		s.state = spareStates + 1 - max(s.state, 1)
		p.sends, one.result = 1, s.state
	}
	terms := b.memory.terms.Data()[q.firstTerm:][:q.numTerms]
	if s.suitsStay(kernel, int(j.splits), p.capacity) {
		copy(s.few.terms[:], terms)
		s.few.search, s.few.query = p, one
		s.few.query.firstTerm = 0
		return s.stay.search(stream, &s.few, int(j.splits))
	}
	if kernel == b.kernels.rangesFew || kernel == b.kernels.variants.filtered.rangesFew || kernel == b.kernels.variants.compact.rangesFew {
		copy(s.few.terms[:], terms)
		return launchAlone(stream, kernel, int(j.splits), &s.few, &s.few.search, &s.few.query, &p, &one)
	}
	copy(s.one.terms[:], terms)
	return launchAlone(stream, kernel, int(j.splits), &s.one, &s.one.search, &s.one.query, &p, &one)
}

// suitsStay reports whether the kernel that stays takes a query. The query before must have had the same kernel, blocks
// and keys: where kernels or segments alternate, staying gains nothing.
func (s *Single) suitsStay(kernel *cuda.Kernel, splits int, capacity uint32) bool {
	k, before := s.batch.kernels, s.suited
	s.suited = suited{}
	if s.staying && s.sends && kernel == k.rangesFew && splits <= k.stays.blocks && !s.timed {
		s.suited = suited{splits, capacity}
	}
	return s.suited != suited{} && s.suited == before
}

// suited is the shape of a query that suits the kernel that stays; zero: it does not.
type suited struct {
	blocks   int
	capacity uint32
}

// launchAlone launches a query. search and query are fields of all, whose terms are set.
func launchAlone[P any](stream *cuda.Stream, kernel *cuda.Kernel, blocks int, all *P, search *searchParams, query *queryParams, p *searchParams, q *queryParams) error {
	*search, *query = *p, *q
	query.firstTerm = 0
	shared := sharedBytes(int(p.maxTerms), int(p.window), int(p.capacity))
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(stream, kernel, cuda.D1(blocks), cuda.D1(threads), shared, all)
}

// kernelOne returns the kernel with the query in its parameters, or nil.
func (k *Kernels) kernelOne(kind int, q *queryParams) *cuda.Kernel {
	switch {
	case q.numTerms > maxOneTerms:
		return nil
	case kind == jobProbe:
		return k.probeOne
	case kind == jobProbeCompact:
		return k.variants.compact.probeOne
	case kind == jobRangesCompact && q.numTerms <= maxFewTerms:
		return k.variants.compact.rangesFew
	case kind == jobRangesCompact:
		return k.variants.compact.rangesOne
	case kind == jobRanges && q.numTerms <= maxFewTerms:
		return k.rangesFew
	case kind == jobRanges:
		return k.rangesOne
	case kind == jobRangesFiltered && q.numTerms <= maxFewTerms:
		return k.variants.filtered.rangesFew
	case kind == jobRangesFiltered:
		return k.variants.filtered.rangesOne
	}
	return nil
}

func (s *Single) await(stream *cuda.Stream, beside func() (more bool)) error {
	if s.stay.posted {
		rest, ok, err := s.awaitPosted(stream, beside)
		if ok || err != nil {
			return err
		}
		beside = rest
	}
	done := &s.batch.memory.results.Data()[0].done
	for more := beside != nil; more; {
		more = beside()
		if atomic.LoadUint32(done) == s.batch.launches || s.arrived() {
			return nil
		}
	}
	for start := time.Now(); ; {
		for range 256 {
			if atomic.LoadUint32(done) == s.batch.launches || s.arrived() {
				return nil
			}
		}
		if time.Since(start) > s.wait {
			return s.synchronized(stream, done)
		}
	}
}

func (s *Single) synchronized(stream *cuda.Stream, done *uint32) error {
	if err := stream.Synchronize(); err != nil {
		return err
	}
	if atomic.LoadUint32(done) == s.batch.launches || s.arrived() {
		return nil
	}
	return errors.New("imagesearch: a launch has ended without an answer")
}

// arrived reports whether all words of the answer have arrived, and then copies them to the
// batch's hits and result.
func (s *Single) arrived() bool {
	words, launch := s.answer.Data(), s.batch.launches
	n, ok := word(&words[0], launch)
	if !ok {
		return false
	}
	r := &s.batch.memory.results.Data()[0]
	if s.sends {
		return s.gathered(r, words[answerHead:][:2*n])
	}
	for i, to := range []*uint32{&r.supers, &r.ranges, &r.candidates, &r.rounds} {
		if *to, ok = word(&words[1+i], launch); !ok {
			return false
		}
	}
	hits := s.batch.memory.hits.Data()
	for i := range int(n) {
		score, ok := word(&words[answerHead+2*i], launch)
		if !ok {
			return false
		}
		low, ok := word(&words[answerHead+2*i+1], launch)
		if !ok {
			return false
		}
		hits[i] = uint64(score)<<32 | uint64(low)
	}
	r.numHits = n
	return true
}

// gathered copies the best k of the hits that the blocks sent, and reports whether all have arrived.
func (s *Single) gathered(r *result, words []uint64) bool {
	q := &s.batch.memory.queries.Data()[0]
	hits := s.batch.memory.hits.Data()[:q.k]
	n := 0
	for i := 0; i < len(words); i += 2 {
		score, ok := word(&words[i], s.batch.launches)
		if !ok {
			return false
		}
		low, ok := word(&words[i+1], s.batch.launches)
		if !ok {
			return false
		}
		key := uint64(score)<<32 | uint64(low)
		at := n
		if n < len(hits) {
			n++
		} else if at--; key < hits[at] {
			continue
		}
		for ; at > 0 && hits[at-1] < key; at-- {
			hits[at] = hits[at-1]
		}
		hits[at] = key
	}
	*r = result{numHits: uint32(n), done: r.done, count: r.count}
	return true
}

// word also returns whether the launch wrote the word.
func word(w *uint64, launch uint32) (uint32, bool) {
	v := atomic.LoadUint64(w)
	return uint32(v), uint32(v>>32) == launch
}

// awaitPosted waits for a query in the mailbox. If the kernel has left without it, it launches another one, and returns
// false. rest is beside, or nil after it has returned false.
func (s *Single) awaitPosted(stream *cuda.Stream, beside func() (more bool)) (rest func() (more bool), ok bool, err error) {
	for start := time.Now(); time.Since(start) < s.wait; {
		for range 64 {
			if s.arrived() {
				return nil, true, nil
			}
			if beside != nil && !beside() {
				beside = nil
			}
		}
		if s.stay.missed(s.batch.launches) && !s.arrived() {
			return beside, false, s.stay.launch(stream, &s.few, s.stay.blocks)
		}
	}
	return beside, false, nil
}
