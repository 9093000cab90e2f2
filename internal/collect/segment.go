package collect

import (
	"math"
	"math/bits"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// segmentRun ranks the documents of a segment.
type segmentRun struct {
	run     *run
	segment *Segment
	index   int
	keys    []keyRun
	after   []slot // of Options.After; nil: none
	heap    heap
}

// keyRun reads the values of a key in a segment.
type keyRun struct {
	*Key
	column *column.Column // nil: no document has a value
	cursor *column.Cursor
	none   slot // of documents without a value
	// defaultTerm is Key.Default, if there is one, of terms.
	defaultTerm string
}

func (r *run) open(s *Segment, index int) (*segmentRun, error) {
	out := &segmentRun{run: r, segment: s, index: index, keys: make([]keyRun, len(r.Keys))}
	out.heap = heap{k: r.K, keys: len(r.Keys)}
	for i := range r.Keys {
		k := &out.keys[i]
		k.Key = &r.Keys[i]
		if k.Field != nil {
			var err error
			if k.column, err = s.Column(k.Field.Name); err != nil {
				return nil, err
			}
			if k.column != nil {
				k.cursor = k.column.Cursor()
			}
		}
		if err := k.setNone(); err != nil {
			return nil, err
		}
	}
	if r.needsScore {
		if err := r.Scorer.Begin(index); err != nil {
			return nil, err
		}
	}
	return out, out.setAfter(r.After)
}

func (k *keyRun) setNone() (err error) {
	k.none = slot{class: k.class(true)}
	if k.Missing == AsValue && k.Field != nil {
		v, err := k.value(k.Default)
		if err != nil {
			return err
		}
		k.defaultTerm = v.Term
		k.none, err = k.slot(v)
		return err
	}
	return nil
}

func (s *segmentRun) setAfter(values []Value) error {
	if values == nil {
		return nil
	}
	s.after = make([]slot, len(values))
	for i, v := range values {
		var err error
		if s.after[i], err = s.keys[i].slot(v); err != nil {
			return err
		}
	}
	return nil
}

// Terms of a segment have the places 4*ordinal+ownTerm. Between them is the place of the default, if the segment
// lacks it, and around this are the places of terms that no document has: of Options.After and former hits.
const ownTerm = 2

// slot returns the place of a value in the segment.
func (k *keyRun) slot(v Value) (slot, error) {
	if v.None {
		return slot{class: k.class(true)}, nil
	}
	if k.isTerms() {
		if k.column == nil {
			return k.directed(int64(strings.Compare(v.Term, k.defaultTerm))), nil
		}
		ord, found, err := k.column.Lookup([]byte(v.Term))
		if err != nil {
			return slot{}, err
		}
		v.Number = 4 * ord
		switch {
		case found:
			v.Number += ownTerm
		case k.Missing == AsValue:
			v.Number += int64(strings.Compare(v.Term, k.defaultTerm))
		}
	}
	return k.directed(v.Number), nil
}

func (k *Key) directed(v int64) slot {
	if k.Desc {
		v = ^v
	}
	return slot{v: v}
}

// read sets the slots of a document; keep is false if it is not after Options.After.
func (s *segmentRun) read(doc base.DocID, row []slot) (score base.Score, keep bool, err error) {
	if s.run.needsScore {
		if score, err = s.run.Scorer.Score(doc); err != nil {
			return 0, false, err
		}
	}
	for i := range s.keys {
		k := &s.keys[i]
		switch k.By {
		case Score:
			row[i] = k.directed(int64(score))
		case Written:
			row[i] = k.directed(int64(s.segment.Base) + int64(s.rank(doc)))
		default:
			if row[i], err = k.read(doc); err != nil {
				return 0, false, err
			}
		}
	}
	return score, s.after == nil || compareRows(row, s.after) > 0, nil
}

func (k *keyRun) read(doc base.DocID) (slot, error) {
	if k.cursor == nil {
		return k.none, nil
	}
	if k.Mode == MinMode && k.By == Values {
		v, ok, err := k.cursor.Value(doc)
		if !ok {
			return k.none, err
		}
		return k.place(v), nil
	}
	values, err := k.cursor.Values(doc)
	switch {
	case err != nil || len(values) == 0:
		return k.none, err
	case k.By == Distance:
		return k.directed(k.distances(values)), nil
	}
	return k.place(k.pick(values)), nil
}

// place is the slot of a value that pick returned.
func (k *keyRun) place(v int64) slot {
	if k.isTerms() {
		v = 4*v + ownTerm
	}
	return k.directed(v)
}

// rank is the number of a document in the order of writing.
func (s *segmentRun) rank(doc base.DocID) uint32 {
	if s.segment.Ranks == nil {
		return uint32(doc)
	}
	return s.segment.Ranks[doc]
}

// bound returns the slots that a document must not exceed, nil if there are none: the slots of the last of
// enough former hits.
func (s *segmentRun) bound() []slot {
	best := s.run.best
	if len(best) < s.run.K {
		return nil
	}
	last := best[len(best)-1].Values
	out := make([]slot, len(last))
	for i := range last {
		var err error
		if out[i], err = s.keys[i].slot(last[i]); err != nil {
			return nil // reading the segment reports it
		}
	}
	return out
}

// fewDocs is a number of documents that are faster read than narrowed.
const fewDocs = 4096

// narrowed returns the documents of words, from a word on, whose first key is not after the first of bound (nil:
// there is none), nor before the first of Options.After. It may keep others.
func (s *segmentRun) narrowed(words []uint64, from int, bound []slot) ([]uint64, error) {
	if len(s.keys) == 0 || bound == nil && s.after == nil {
		return words, nil
	}
	k := &s.keys[0]
	lo, hi := slot{class: -1}, slot{class: 1}
	if bound != nil {
		hi = bound[0]
	}
	if s.after != nil {
		lo = s.after[0]
	}
	if !k.narrows() || atMost(words[from:], fewDocs) {
		return words, nil
	}
	set := make([]uint64, len(words))
	if first, last := k.interval(lo, hi); first <= last {
		if err := k.column.Range(first, last, set); err != nil {
			return nil, err
		}
	}
	if k.none.compare(lo) >= 0 && k.none.compare(hi) <= 0 {
		with := make([]uint64, len(words))
		if err := k.column.Exists(with); err != nil {
			return nil, err
		}
		for i := range set {
			set[i] |= ^with[i]
		}
	}
	for i := from; i < len(set); i++ {
		set[i] &= words[i]
	}
	return set, nil
}

// narrows reports whether an interval of values of the column holds all documents with a key in an interval:
// for the least value, or for the greatest, bounded on its side, or of a single value.
func (k *keyRun) narrows() bool {
	if k.By != Values || k.column == nil || k.isReal() {
		return false
	}
	return !k.column.MultiValued() || k.Mode == MinMode && !k.Desc || k.Mode == MaxMode && k.Desc
}

// interval returns values of the column that a document has if its slot is from lo to hi.
func (k *keyRun) interval(lo, hi slot) (first, last int64) {
	first, last = math.MinInt64, math.MaxInt64
	if lo.class > 0 || hi.class < 0 {
		return 1, 0
	}
	least, most := lo.class == 0, hi.class == 0
	from, to := lo.v, hi.v
	if k.Desc {
		least, most, from, to = most, least, ^hi.v, ^lo.v
	}
	if k.isTerms() {
		from, to = (from+1)>>2, (to-ownTerm)>>2
	}
	// A document with several values has one on the better side of its key only.
	if least && (!k.column.MultiValued() || k.Desc) {
		first = from
	}
	if most && (!k.column.MultiValued() || !k.Desc) {
		last = to
	}
	return first, last
}

// atMost reports whether words have at most n bits.
func atMost(words []uint64, n int) bool {
	for _, w := range words {
		if w != 0 {
			n -= bits.OnesCount64(w)
			if n < 0 {
				return false
			}
		}
	}
	return true
}

// hits turns entries into hits with values that hold in all segments.
func (s *segmentRun) hits(entries []entry) ([]Hit, error) {
	out := make([]Hit, len(entries))
	values := make([]Value, len(entries)*len(s.keys))
	for i := range entries {
		e := &entries[i]
		own := values[i*len(s.keys) : (i+1)*len(s.keys) : (i+1)*len(s.keys)]
		for j, v := range s.heap.row(e) {
			var err error
			if own[j], err = s.keys[j].valueOf(v); err != nil {
				return nil, err
			}
		}
		out[i] = Hit{Segment: s.index, Doc: e.doc, Score: e.score, Values: own, rank: e.rank}
	}
	return out, nil
}

// valueOf is the inverse of slot for the values of documents.
func (k *keyRun) valueOf(s slot) (Value, error) {
	if s.class != 0 {
		return Value{None: true}, nil
	}
	v := s.v
	if k.Desc {
		v = ^v
	}
	if !k.isTerms() {
		return Value{Number: v}, nil
	}
	if v&3 != ownTerm { // of documents without a term
		return Value{Term: k.defaultTerm}, nil
	}
	term, err := k.column.Term(v >> 2)
	return Value{Term: string(term)}, err
}
