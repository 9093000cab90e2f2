package imagesearch

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/imagesearch_tally.ptx.zst
var tallyImage []byte

// maxTallyTerms is the number of terms that fit into the parameters of a launch.
const maxTallyTerms = 96

const (
	// MaxTallySlots is the maximum of Values.NumSlots.
	MaxTallySlots = 1 << 20
	// MaxTallyCounts bounds the sum of NumSlots in a Count. The counts then take 16 MiB on the device, and 16 on the host.
	MaxTallyCounts = 1 << 22
)

const (
	tallyThreads = 1024
	// tallyUnits is the maximum number of units of 1,024 documents of which a warp reads all bitmaps at the same time.
	tallyUnits  = 6
	markThreads = 256
	// directSlots is the maximum number of counts that a kernel writes to the host; the device copies more.
	directSlots = 1 << 13
	// tallyShared are the bytes of a block's counts that leave room for a second block. Several copies of the
	// counts, up to tallyCopies, spare lanes from waiting for each other.
	tallyShared = 48 << 10
	tallyCopies = 8
)

// Values are a column in device memory: a number for each value of a document, 1 to NumSlots - 1. In a document
// without one it is 0.
type Values struct {
	// Words has 16-bit or 32-bit (Wide) numbers, [NumDocs] rounded up to eight, aligned to 16 bytes; zero
	// bits are behind the last.
	Words cuda.Buffer[uint32]
	Wide  bool
	// Starts, if not zero, is the number of the first value of each document in Words, and of the end:
	// [NumDocs + 1]. Documents then have any number of values.
	Starts   cuda.Buffer[uint32]
	NumSlots int
}

// Tally counts the matches of a query, and for columns how many of them have each value. Not safe for concurrent
// use.
type Tally struct {
	kernels *tallyKernels
	wait    time.Duration // as in Single

	bits   cuda.Buffer[uint32] // all 0 between launches, as counts and state, unless one failed
	counts cuda.Buffer[uint32]
	state  cuda.Buffer[uint64]
	failed bool

	out      cuda.HostBuffer[uint32]
	docs     cuda.HostBuffer[uint32] // of Select, as keys; zero until the first one
	keys     cuda.HostBuffer[uint64]
	result   cuda.HostBuffer[uint64]
	launches uint32
	columns  []int // of the last query: the first count of each

	begun, ended *cuda.Event
	timed        bool
	resident     map[residence]int
	mostBlocks   int // limit of a launch in tests; 0: none
	mark         markParams
	params       tallyParams
}

type tallyKernels struct {
	*Kernels
	mark   *cuda.Kernel
	counts [2]*cuda.Kernel // of 16 and of 32 bits
	choose [3]*cuda.Kernel // of 16, 32 and 64 bits
}

type tallyTerm struct {
	docIDs  cuda.Ptr[uint32] // or the bitmap
	starts  cuda.Ptr[uint32]
	base    cuda.Ptr[uint32] // of a packed list
	docFreq uint32
	shift   uint32
}

type markParams struct {
	bits     cuda.Ptr[uint32]
	numTerms uint32
	_        uint32
	terms    [maxTallyTerms]tallyTerm
}

type tallyParams struct {
	bits, live, filter cuda.Ptr[uint32]
	values             cuda.Ptr[uint32]
	starts             cuda.Ptr[uint32]
	counts             cuda.Ptr[uint32]
	out                cuda.Ptr[uint32]
	state, result      cuda.Ptr[uint64]

	numDocs, numSlots  uint32
	copies             uint32
	all, clear         uint32
	launch             uint32
	numDense, numTerms uint32
	numPacked, units   uint32
	terms              [maxTallyTerms]tallyTerm
}

// tally loads the kernels once: few queries need them.
func (k *Kernels) tally() (*tallyKernels, error) {
	k.loadTally.Do(func() {
		t := &tallyKernels{Kernels: k}
		var m *cuda.Module
		if m, k.tallyErr = k.module("imagesearch_tally", tallyImage); k.tallyErr != nil {
			return
		}
		if t.mark, k.tallyErr = cuda.LoadKernel[markParams](m, "imagesearch_mark"); k.tallyErr != nil {
			return
		}
		for i, name := range []string{"imagesearch_tally16", "imagesearch_tally32"} {
			if t.counts[i], k.tallyErr = cuda.LoadKernel[tallyParams](m, name); k.tallyErr != nil {
				return
			}
		}
		for i, name := range []string{"imagesearch_select16", "imagesearch_select32", "imagesearch_select64"} {
			if t.choose[i], k.tallyErr = cuda.LoadKernel[selectParams](m, name); k.tallyErr != nil {
				return
			}
		}
		k.tallied = t
	})
	return k.tallied, k.tallyErr
}

// NewTally allocates the memory that every query needs.
func (k *Kernels) NewTally() (*Tally, error) {
	kernels, err := k.tally()
	if err != nil {
		return nil, err
	}
	t := &Tally{kernels: kernels, wait: singleWait, failed: true, resident: map[residence]int{}}
	if err := t.allocate(k.device); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Tally) allocate(d *cuda.Device) (err error) {
	if t.state, err = cuda.Alloc[uint64](d, 2); err != nil {
		return err
	}
	if t.result, err = cuda.AllocHost[uint64](d, 3); err != nil {
		return err
	}
	clear(t.result.Data())
	if t.begun, err = d.NewEvent(true /* timing */); err != nil {
		return err
	}
	t.ended, err = d.NewEvent(true /* timing */)
	return err
}

// Close frees the memory. No launch may be running.
func (t *Tally) Close() error {
	errs := []error{t.bits.Free(), t.counts.Free(), t.state.Free(), t.out.Free(), t.docs.Free(), t.keys.Free(), t.result.Free()}
	for _, e := range []*cuda.Event{t.begun, t.ended} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}

// Count counts the matches of a query, and the values of columns in them, in a stream with no other work, and waits. It
// uses Mode, Terms and Filter of the query; one without terms matches all documents. Errors are as for Batch.Add, or the
// device's.
func (t *Tally) Count(stream *cuda.Stream, segment Segment, q *Query, columns []Values) error {
	if err := t.check(&segment, q, columns); err != nil {
		return err
	}
	if err := t.reserve(&segment, columns); err != nil {
		return err
	}
	if err := t.launch(stream, &segment, q, columns); err != nil {
		return abandon(stream, err)
	}
	return t.await(stream, columns)
}

func (t *Tally) check(segment *Segment, q *Query, columns []Values) error {
	if len(q.Terms) > maxTallyTerms || q.some() {
		return fmt.Errorf("%d terms, or parts: %w", len(q.Terms), ErrUnsuited)
	}
	if err := q.checkSegment(segment); err != nil {
		return err
	}
	slots := 0
	for i := range columns {
		c := &columns[i]
		if slots += c.NumSlots; c.NumSlots > MaxTallySlots || slots > MaxTallyCounts {
			return fmt.Errorf("column %d: %d values, %d with those before: %w", i, c.NumSlots, slots, ErrUnsuited)
		}
		perWord := 2
		if c.Wide {
			perWord = 1
		}
		if c.NumSlots < 1 || c.Words.Ptr()%16 != 0 || !c.Starts.IsZero() && c.Starts.Len() <= segment.NumDocs ||
			c.Starts.IsZero() && c.Words.Len()*perWord < (segment.NumDocs+7)/8*8 {
			return fmt.Errorf("column %d: %d words at %#x, %d starts, %d slots for %d documents: %w",
				i, c.Words.Len(), c.Words.Ptr(), c.Starts.Len(), c.NumSlots, segment.NumDocs, base.ErrBadInput)
		}
	}
	return nil
}

func (t *Tally) reserve(segment *Segment, columns []Values) error {
	t.columns = t.columns[:0]
	slots := 0
	for i := range columns {
		t.columns = append(t.columns, slots)
		slots += columns[i].NumSlots
	}
	t.columns = append(t.columns, slots)
	if n := FilterWords(segment.NumDocs); n > t.bits.Len() {
		t.failed = true
		if err := larger(&t.bits, max(n, t.bits.Len()+t.bits.Len()/2), t.kernels.device, cuda.Alloc[uint32]); err != nil {
			return err
		}
	}
	if n := min(t.counts.Len(), t.out.Len()); slots > n { // one may be empty after an error
		t.failed = true
		n = max(slots, min(n+n/2, MaxTallyCounts))
		if err := larger(&t.counts, n, t.kernels.device, cuda.Alloc[uint32]); err != nil {
			return err
		}
		return larger(&t.out, n, t.kernels.device, cuda.AllocHost[uint32])
	}
	return nil
}

// larger replaces a buffer by one of n words; after an error it is empty.
func larger[M cuda.Memory](b *M, n int, d *cuda.Device, alloc func(*cuda.Device, int) (M, error)) error {
	old := *b
	*b = *new(M)
	if err := old.Free(); err != nil {
		return err
	}
	grown, err := alloc(d, n)
	if err == nil {
		*b = grown
	}
	return err
}

func (t *Tally) launch(stream *cuda.Stream, segment *Segment, q *Query, columns []Values) error {
	if err := t.begin(stream); err != nil {
		return err
	}
	if err := t.find(stream, segment, q); err != nil {
		return err
	}
	for i := range max(len(columns), 1) {
		if err := t.countColumn(stream, segment, columns, i); err != nil {
			return err
		}
	}
	return t.record(stream, t.ended)
}

// record records an event of Elapsed.
func (t *Tally) record(stream *cuda.Stream, e *cuda.Event) error {
	if !t.timed {
		return nil
	}
	return stream.Record(e)
}

// begin clears the counts of a failed launch, and begins the time of Elapsed.
func (t *Tally) begin(stream *cuda.Stream) error {
	if t.failed {
		err := errors.Join(cuda.Fill(stream, t.bits, 0), cuda.Fill(stream, t.state, 0))
		if t.counts.Len() > 0 {
			err = errors.Join(err, cuda.Fill(stream, t.counts, 0))
		}
		if err != nil {
			return err
		}
	}
	t.failed = true
	t.number()
	return t.record(stream, t.begun)
}

// number gives the next launch that the host waits for a number.
func (t *Tally) number() {
	if t.launches++; t.launches == 0 {
		t.launches++
	}
	t.result.Data()[1] = 0
}

// find prepares the parameters of counts; of an And query with a bounded or sparse list, it marks the matches.
func (t *Tally) find(stream *cuda.Stream, segment *Segment, q *Query) error {
	p := &t.params
	*p = tallyParams{
		live: segment.Live.Ptr(), filter: q.Filter.Ptr(), state: t.state.Ptr(), result: t.result.DevicePtr(), numDocs: uint32(segment.NumDocs),
	}
	if len(q.Terms) == 0 {
		p.all = 1
		return nil
	}
	if q.Mode == And {
		if slices.ContainsFunc(q.Terms, func(term Term) bool { return term.Image.kind < packed }) {
			return t.probe(stream, q)
		}
		p.all = 1
	}
	for _, kind := range [...]kind{dense, packed, bounded, sparse} {
		for i := range q.Terms {
			if q.Terms[i].Image.kind == kind {
				p.terms[p.numTerms] = q.Terms[i].tally()
				p.numTerms++
			}
		}
		switch kind {
		case dense:
			p.numDense = p.numTerms
		case packed:
			p.numPacked = p.numTerms
		}
	}
	return nil
}

// probe marks the documents that are in all lists. It looks up the documents of the shortest list with DocIDs of 32
// bits in the others.
func (t *Tally) probe(stream *cuda.Stream, q *Query) error {
	m := &t.mark
	m.bits, m.numTerms = t.bits.Ptr(), 0
	order := q.byLength()
	first := slices.IndexFunc(order, func(i int) bool { return q.Terms[i].Image.kind < packed })
	order[0], order[first] = order[first], order[0]
	for _, i := range order {
		m.terms[m.numTerms] = q.Terms[i].tally()
		m.numTerms++
	}
	t.params.bits = m.bits
	blocks := min((int(m.terms[0].docFreq)+markThreads-1)/markThreads, 8*t.kernels.device.Info().Multiprocessors)
	return cuda.Launch(stream, t.kernels.mark, cuda.D1(blocks), cuda.D1(markThreads), 0, m)
}

// byLength returns the terms' numbers by rising length.
func (q *Query) byLength() []int {
	order := make([]int, len(q.Terms))
	for i := range order {
		order[i] = i
		for j := i; j > 0 && q.Terms[order[j]].Image.shape.DocFreq < q.Terms[order[j-1]].Image.shape.DocFreq; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return order
}

func (t *Term) tally() tallyTerm {
	m := &t.Image
	at := func(part uint32) cuda.Ptr[uint32] {
		return cuda.Ptr[uint32](m.data) + cuda.Ptr[uint32](part)*layoutUnit
	}
	if m.kind == dense {
		return tallyTerm{docIDs: at(m.term.bitmap), docFreq: m.term.docFreq}
	}
	to := tallyTerm{docIDs: at(m.term.docIDs), starts: at(m.term.starts), docFreq: m.term.docFreq, shift: m.term.bucketShift}
	if m.kind == packed {
		to.base = at(m.term.base)
	}
	return to
}

// countColumn counts column i; matches are counted with the last one.
func (t *Tally) countColumn(stream *cuda.Stream, segment *Segment, columns []Values, i int) error {
	p, kernel := t.params, t.kernels.counts[0]
	shared := 0
	if i < len(columns) {
		c := &columns[i]
		from := cuda.Ptr[uint32](4 * t.columns[i])
		p.values, p.starts, p.numSlots, p.counts = c.Words.Ptr(), c.Starts.Ptr(), uint32(c.NumSlots), t.counts.Ptr()+from
		if c.NumSlots <= directSlots {
			p.out = t.out.DevicePtr() + from
		}
		if c.Wide {
			kernel = t.kernels.counts[1]
		}
		p.copies = copiesOf(c.NumSlots, t.kernels.device.Info().MaxSharedBytes-kernel.SharedBytes())
		shared = 4 * c.NumSlots * int(p.copies)
	}
	if i+1 >= len(columns) {
		p.clear, p.launch = 1, t.launches
	}
	blocks, err := t.blocks(kernel, shared, segment)
	if err != nil {
		return err
	}
	p.units = unitsOf(segment.NumDocs, blocks)
	return cuda.Launch(stream, kernel, cuda.D1(blocks), cuda.D1(tallyThreads), shared, &p)
}

func (t *Tally) await(stream *cuda.Stream, columns []Values) error {
	copied := false
	for i := range columns {
		if n := columns[i].NumSlots; n > directSlots {
			from := t.columns[i]
			part := t.counts.Slice(from, from+n)
			err := cuda.CopyToHost(stream, t.out.Data()[from:from+n], part)
			if err = errors.Join(err, cuda.Fill(stream, part, 0)); err != nil {
				return abandon(stream, err)
			}
			copied = true
		}
	}
	if copied {
		if err := t.synchronized(stream); err != nil {
			return err
		}
	} else if err := t.awaitLaunch(stream); err != nil {
		return err
	}
	t.failed = false
	return nil
}

// awaitLaunch waits for the launch of the last number.
func (t *Tally) awaitLaunch(stream *cuda.Stream) error {
	done := &t.result.Data()[1]
	for start := time.Now(); ; {
		for range 256 {
			if atomic.LoadUint64(done) == uint64(t.launches) {
				return nil
			}
		}
		if time.Since(start) > t.wait {
			return t.synchronized(stream)
		}
	}
}

func (t *Tally) synchronized(stream *cuda.Stream) error {
	if err := stream.Synchronize(); err != nil {
		return err
	}
	if atomic.LoadUint64(&t.result.Data()[1]) != uint64(t.launches) {
		return errors.New("imagesearch: a count has ended without an answer")
	}
	return nil
}

// Matches is the number of matches of the last query.
func (t *Tally) Matches() uint64 { return t.result.Data()[0] }

// Counts returns how many matches have each value of column i of the last query, at 0 how many have none. It is valid
// until the next Count.
func (t *Tally) Counts(i int) []uint32 { return t.out.Data()[t.columns[i]:t.columns[i+1]] }

// SetTimed turns the measurement of device time on or off. A measurement costs about the time of a kernel launch.
func (t *Tally) SetTimed(timed bool) { t.timed = timed }

// Elapsed returns the device time of the last query, if measured. It waits for the end of the launch, which is later than
// the answer.
func (t *Tally) Elapsed() (time.Duration, error) {
	if err := t.ended.Synchronize(); err != nil {
		return 0, err
	}
	return t.ended.Elapsed(t.begun)
}

// TallyTime predicts the device time of a Count of one column, roughly. On an H200, of 25.2 million documents, counts took
// 28 µs with 3.46 million matches of 3.74 million postings, and 19 µs with 1 % of them (docs/benchmarks/gpu-typed.md).
func TallyTime(numDocs int, postings uint64) time.Duration {
	ns := 8_000 + float64(numDocs)/2_500 + float64(postings)/370
	return time.Duration(min(ns, math.MaxInt64/2))
}
