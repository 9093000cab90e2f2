package segment

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/turns"
)

// Write encodes lists in a pipeline: one goroutine merges sources and cuts lists into pieces;
// Threads goroutines encode a piece each, append it to the files in order, and send terms and
// records to the goroutine of the dictionary.
//
// An encoder buffers its piece until all earlier ones are written or it has spoolLen bytes;
// then it waits for its turn and writes directly: memory is bounded. The earliest unwritten
// piece never waits, so there is no deadlock.

// In bytes, for one file.
const spoolLen = 4 << 20

// Consecutive lists of one field.
type piece struct {
	field   base.FieldID
	batches chan *batch
	turn    <-chan struct{} // closed when the previous piece is written
	done    chan struct{}   // closed when this piece is written
}

// Encoders append in the order of the pieces.
type listFiles struct {
	postings, positions, frontiers *sealed.Writer // positions may be nil
}

// align moves the files to the offsets from which postings.Writer counts.
func (f *listFiles) align() error {
	if err := f.postings.Align(16); err != nil || f.positions == nil {
		return err
	}
	return f.positions.Align(4)
}

type encoder struct {
	codec    codec.Codec
	fields   []encoderField
	files    *listFiles
	renumber *renumberer // nil without Options.Order
	dict     chan<- *termBatch
	turns    *turns.Turns

	piece  *piece
	direct bool                                            // it is the piece's turn: spools write directly
	origin struct{ postings, positions, frontiers uint64 } // of the piece in the files, set by takeTurn
	out    struct{ postings, positions, frontiers spool }
	terms  *termBatch
}

type encoderField struct {
	lengths    []uint32
	saturation score.Saturation
	positions  bool
}

type termBatch struct {
	field base.FieldID
	terms []byte // one after another
	ends  []int
	metas []postings.Meta
}

// The memory of finished work, for later segments. Without it, two fifths of the memory that griffin serve allocated beside
// writes at 12 MB/s were of these, and the garbage collector ran accordingly.
var (
	freeBatches = sync.Pool{New: func() any { return new(batch) }}
	freeTerms   = sync.Pool{New: func() any { return new(termBatch) }}
	freeSpools  = sync.Pool{New: func() any { return new([]byte) }}
)

func newTermBatch(field base.FieldID) *termBatch {
	t := freeTerms.Get().(*termBatch)
	t.field, t.terms, t.ends, t.metas = field, t.terms[:0], t.ends[:0], t.metas[:0]
	return t
}

// A buffer for one file until the piece's turn.
type spool struct {
	ctx context.Context
	e   *encoder
	out *sealed.Writer
	buf []byte
}

func (s *spool) Write(p []byte) (int, error) {
	if s.e.direct {
		return s.out.Write(p)
	}
	s.buf = append(s.buf, p...)
	if len(s.buf) >= spoolLen {
		if err := s.e.takeTurn(s.ctx); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (s *spool) flush() error {
	if s.out == nil {
		return nil
	}
	_, err := s.out.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (e *encoder) run(ctx context.Context, pieces <-chan *piece) error {
	e.out.postings = spool{ctx: ctx, e: e, out: e.files.postings}
	e.out.positions = spool{ctx: ctx, e: e, out: e.files.positions}
	e.out.frontiers = spool{ctx: ctx, e: e, out: e.files.frontiers}
	for _, s := range []*spool{&e.out.postings, &e.out.positions, &e.out.frontiers} {
		buf := freeSpools.Get().(*[]byte)
		s.buf = (*buf)[:0]
		defer func() {
			*buf = s.buf
			freeSpools.Put(buf)
		}()
	}
	for {
		p, ok, err := receive(ctx, e.turns, pieces)
		if err != nil || !ok {
			return err
		}
		if err := e.encode(ctx, p); err != nil {
			return err
		}
	}
}

func (e *encoder) encode(ctx context.Context, p *piece) error {
	e.piece, e.direct = p, false
	e.terms = newTermBatch(p.field)
	f := &e.fields[p.field]
	if e.renumber != nil {
		e.renumber.positions = f.positions
	}
	w := postings.NewWriter(postings.Options{
		Codec:      e.codec,
		Saturation: f.saturation,
		Positions:  f.positions,
	}, &e.out.postings, &e.out.positions, &e.out.frontiers)
	if err := e.encodeBatches(ctx, w, f.lengths); err != nil {
		return err
	}
	if !e.direct {
		if err := e.takeTurn(ctx); err != nil {
			return err
		}
	}
	for i := range e.terms.metas {
		m := &e.terms.metas[i]
		m.Offset += e.origin.postings
		m.FrontierOffset += e.origin.frontiers
		if m.PosLength > 0 {
			m.PosOffset += e.origin.positions
		}
	}
	if err := send(ctx, e.turns, e.dict, e.terms); err != nil {
		return err
	}
	close(p.done)
	return nil
}

// takeTurn waits until all earlier pieces are written, and then writes the spools.
func (e *encoder) takeTurn(ctx context.Context) error {
	if _, _, err := receive(ctx, e.turns, e.piece.turn); err != nil {
		return err
	}
	if err := e.files.align(); err != nil {
		return err
	}
	e.direct = true
	e.origin.postings, e.origin.frontiers = e.files.postings.Offset(), e.files.frontiers.Offset()
	if e.files.positions != nil {
		e.origin.positions = e.files.positions.Offset()
	}
	for _, s := range []*spool{&e.out.postings, &e.out.positions, &e.out.frontiers} {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) encodeBatches(ctx context.Context, w *postings.Writer, lengths []uint32) error {
	for {
		b, ok, err := receive(ctx, e.turns, e.piece.batches)
		if err != nil || !ok {
			return err
		}
		if err := e.encodeBatch(w, b, lengths); err != nil {
			return err
		}
		b.reset()
		freeBatches.Put(b)
	}
}

func (e *encoder) encodeBatch(w *postings.Writer, b *batch, lengths []uint32) error {
	terms, docIDs, freqs, positions := b.terms, b.docIDs, b.freqs, b.positions
	const listsPerPass, postingsPerPass = 16, 1 << 10
	for i, part := range b.parts {
		if i%listsPerPass == 0 || part.numPostings >= postingsPerPass {
			e.turns.Pass()
		}
		if part.termLen > 0 {
			e.terms.terms = append(e.terms.terms, terms[:part.termLen]...)
			terms = terms[part.termLen:]
			w.Begin(lengths)
		}
		if err := e.addPostings(w, docIDs[:part.numPostings], freqs[:part.numPostings], positions[:part.posBytes], part.last); err != nil {
			return e.listError(err)
		}
		docIDs, freqs, positions = docIDs[part.numPostings:], freqs[part.numPostings:], positions[part.posBytes:]
		if part.last {
			m, err := w.Finish()
			if err != nil {
				return e.listError(err)
			}
			e.endList(m)
		}
	}
	return nil
}

func (e *encoder) addPostings(w *postings.Writer, docIDs, freqs []uint32, positions []byte, last bool) error {
	if e.renumber == nil {
		return w.AddBlock(docIDs, freqs, positions)
	}
	if err := e.renumber.add(docIDs, freqs, positions); err != nil || !last {
		return err
	}
	return e.renumber.finish(w)
}

// endList removes the term if only dropped documents had it.
func (e *encoder) endList(m postings.Meta) {
	t := e.terms
	if m.DocFreq == 0 {
		t.terms = t.terms[:e.termStart()]
		return
	}
	t.ends = append(t.ends, len(t.terms))
	t.metas = append(t.metas, m)
}

func (e *encoder) termStart() int {
	if n := len(e.terms.ends); n > 0 {
		return e.terms.ends[n-1]
	}
	return 0
}

func (e *encoder) listError(err error) error {
	return fmt.Errorf("field %d: term %q: %w", e.terms.field, e.terms.terms[e.termStart():], err)
}

// Sorts a list by new DocIDs.
type renumberer struct {
	newID     []uint32 // by old DocID
	positions bool
	next      int64    // one past the last old DocID added
	keys      []uint64 // new DocID << 32 | index in freqs
	spare     []uint64
	freqs     []uint32
	posBytes  []byte
	posStarts []uint64 // by index

	docOut, freqOut []uint32
	posOut          []byte
}

func (r *renumberer) add(docIDs, freqs []uint32, positions []byte) error {
	for i, d := range docIDs {
		if int64(d) < r.next || int64(d) >= int64(len(r.newID)) {
			return fmt.Errorf("DocID %d of %d, want at least %d: %w", d, len(r.newID), r.next, base.ErrBadInput)
		}
		r.next = int64(d) + 1
		r.keys = append(r.keys, uint64(r.newID[d])<<32|uint64(len(r.freqs)+i))
	}
	r.freqs = append(r.freqs, freqs...)
	r.posBytes = append(r.posBytes, positions...)
	return nil
}

// finish writes the list after w.Begin, and resets r.
func (r *renumberer) finish(w *postings.Writer) error {
	if err := r.findPositions(); err != nil {
		return err
	}
	r.sort()
	for keys := range slices.Chunk(r.keys, codec.BlockLen) {
		r.docOut, r.freqOut, r.posOut = r.docOut[:0], r.freqOut[:0], r.posOut[:0]
		for _, k := range keys {
			i := uint32(k)
			r.docOut = append(r.docOut, uint32(k>>32))
			r.freqOut = append(r.freqOut, r.freqs[i])
			if r.positions {
				r.posOut = append(r.posOut, r.posBytes[r.posStarts[i]:r.posStarts[i+1]]...)
			}
		}
		if err := w.AddBlock(r.docOut, r.freqOut, r.posOut); err != nil {
			return err
		}
	}
	r.next, r.keys, r.freqs, r.posBytes = 0, r.keys[:0], r.freqs[:0], r.posBytes[:0]
	return nil
}

func (r *renumberer) findPositions() error {
	if !r.positions {
		return nil
	}
	r.posStarts = r.posStarts[:0]
	start := 0
	for _, f := range r.freqs {
		r.posStarts = append(r.posStarts, uint64(start))
		size, ok := postings.VbytesLen(r.posBytes[start:], uint64(f))
		if !ok {
			return fmt.Errorf("positions end early: %w", base.ErrBadInput)
		}
		start += size
	}
	r.posStarts = append(r.posStarts, uint64(start))
	if start != len(r.posBytes) {
		return fmt.Errorf("%d bytes of positions too many: %w", len(r.posBytes)-start, base.ErrBadInput)
	}
	return nil
}

// A radix sort of 11-bit digits from 1,024 keys on; below, comparison is faster.
func (r *renumberer) sort() {
	if len(r.keys) < 1024 {
		slices.Sort(r.keys)
		return
	}
	r.spare = slices.Grow(r.spare[:0], len(r.keys))[:len(r.keys)]
	from, to := r.keys, r.spare
	for shift := 32; shift < 64 && len(r.newID)>>(shift-32) > 0; shift += 11 {
		var starts [1 << 11]int
		for _, k := range from {
			starts[k>>shift&(1<<11-1)]++
		}
		sum := 0
		for d, n := range starts {
			starts[d] = sum
			sum += n
		}
		for _, k := range from {
			d := k >> shift & (1<<11 - 1)
			to[starts[d]] = k
			starts[d]++
		}
		from, to = to, from
	}
	r.keys, r.spare = from, to
}
