package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// The dictionary, version 1: "records" holds the postings.Meta of each list, by field and term
// bytes. "terms" has a finite state transducer (vellum format 1) for each partition,
// consecutive terms of a field, then the table of partitions and its length.
//
//	+-------+-------+-----+--------------------+---------------+
//	| FST 0 | FST 1 | ... | table              | table bytes 8 |
//	+-------+-------+-----+--------------------+---------------+
//
//	table: number of partitions, then for each (all varints but the term):
//	+-------+-----------+-----------+---------------+------------+------------+
//	| field | FST bytes | num terms | records bytes | term bytes | first term |
//	+-------+-----------+-----------+---------------+------------+------------+
//
// An FST maps a term to its record's offset in the partition. Open reads only the table; an FST
// is checked and loaded at its first lookup.
const (
	dictionaryVersion = 1
	partitionTerms    = 1 << 16
	partitionKeyBytes = 8 << 20 // total bytes of the terms, at most
	// Above 15 numbers of up to 10 bytes.
	maxRecord = 160
	// Write accepts no longer terms.
	maxTermLen = 1 << 15
)

type dictionary struct {
	terms, records *sealed.File
	partitions     []partition
}

type partition struct {
	field          base.FieldID
	first          []byte // term
	numTerms       uint64
	fstOff, fstLen uint64
	recOff, recLen uint64
	loaded         atomic.Pointer[loadedFST]
}

// A verified transducer.
type loadedFST struct {
	data    []byte
	fst     *vellum.FST
	readers sync.Pool // *vellum.Reader
}

func newDictionary(terms, records *sealed.File, numFields int) (*dictionary, error) {
	d := &dictionary{terms: terms, records: records}
	n := terms.Len()
	if n < 8 {
		return nil, fmt.Errorf("%s: no table: %w", terms.Name(), base.ErrCorrupt)
	}
	tail, err := terms.Range(n-8, 8)
	if err != nil {
		return nil, err
	}
	tableLen := binary.LittleEndian.Uint64(tail)
	if tableLen > n-8 {
		return nil, fmt.Errorf("%s: table of %d bytes: %w", terms.Name(), tableLen, base.ErrCorrupt)
	}
	table, err := terms.Range(n-8-tableLen, tableLen)
	if err != nil {
		return nil, err
	}
	if d.partitions, err = parsePartitions(table, n-8-tableLen, records.Len(), numFields); err != nil {
		return nil, fmt.Errorf("%s: %w", terms.Name(), err)
	}
	return d, nil
}

// parsePartitions reads the table. Partitions must fill fsts and records bytes exactly.
func parsePartitions(table []byte, fsts, records uint64, numFields int) ([]partition, error) {
	r := byteReader{src: table}
	n := r.count()
	if n > len(table)/6 { // an entry takes at least 6 bytes
		return nil, fmt.Errorf("table of %d bytes with %d partitions: %w", len(table), n, base.ErrCorrupt)
	}
	parts := make([]partition, n)
	var fstOff, recOff uint64
	for i := range parts {
		p := &parts[i]
		field := r.uvarint()
		p.fstOff, p.fstLen = fstOff, r.uvarint()
		p.numTerms = r.uvarint()
		p.recOff, p.recLen = recOff, r.uvarint()
		p.first = r.bytes()
		if r.bad || field >= uint64(numFields) || p.fstLen > fsts-fstOff || p.recLen > records-recOff ||
			p.numTerms == 0 || p.numTerms > p.recLen || len(p.first) == 0 {
			return nil, fmt.Errorf("partition %d: %w", i, base.ErrCorrupt)
		}
		p.field = base.FieldID(field)
		if i > 0 && comparePartition(&parts[i-1], p.field, p.first) >= 0 {
			return nil, fmt.Errorf("partition %d: not in order: %w", i, base.ErrCorrupt)
		}
		fstOff += p.fstLen
		recOff += p.recLen
	}
	if r.bad || len(r.src) > 0 || fstOff != fsts || recOff != records {
		return nil, fmt.Errorf("table of partitions: %w", base.ErrCorrupt)
	}
	return parts, nil
}

func (d *dictionary) numTerms() uint64 {
	n := uint64(0)
	for i := range d.partitions {
		n += d.partitions[i].numTerms
	}
	return n
}

func comparePartition(p *partition, field base.FieldID, term []byte) int {
	if p.field != field {
		return int(p.field) - int(field)
	}
	return bytes.Compare(p.first, term)
}

// find returns the index of the only partition that can hold a term, or -1.
func (d *dictionary) find(field base.FieldID, term []byte) int {
	i := sort.Search(len(d.partitions), func(i int) bool { return comparePartition(&d.partitions[i], field, term) > 0 }) - 1
	if i < 0 || d.partitions[i].field != field {
		return -1
	}
	return i
}

// load returns the partition's transducer. Concurrent first calls may each load it; all
// return the one stored first.
func (d *dictionary) load(p *partition) (l *loadedFST, err error) {
	if l := p.loaded.Load(); l != nil {
		return l, nil
	}
	defer d.recoverFST(p, &err)
	data, err := d.terms.Range(p.fstOff, p.fstLen)
	if err != nil {
		return nil, err
	}
	fst, err := vellum.Load(data[:len(data):len(data)])
	if err != nil {
		return nil, d.fstError(p, err)
	}
	l = &loadedFST{data: data, fst: fst}
	l.readers.New = func() any {
		r, err := fst.Reader()
		if err != nil {
			panic(err) // vellum's Reader has no error to return
		}
		return r
	}
	p.loaded.CompareAndSwap(nil, l)
	return p.loaded.Load(), nil
}

func (d *dictionary) fstError(p *partition, err error) error {
	return fmt.Errorf("%s: partition of field %d from term %q: %w: %w", d.terms.Name(), p.field, p.first, err, base.ErrCorrupt)
}

// recoverFST converts a panic to an error: vellum does not check bounds, so a malicious
// file with valid checksums can make it panic.
func (d *dictionary) recoverFST(p *partition, err *error) {
	switch r := recover(); { //nolint:revive // it is deferred, by name
	case r == nil:
	case vfs.FaultOf(r) != nil:
		*err = vfs.FaultOf(r)
	default:
		*err = d.fstError(p, fmt.Errorf("%v", r))
	}
}

func (d *dictionary) meta(field base.FieldID, term []byte) (m postings.Meta, found bool, err error) {
	i := d.find(field, term)
	if i < 0 {
		return m, false, nil
	}
	p := &d.partitions[i]
	offset, found, err := d.lookup(p, term)
	if err != nil || !found {
		return m, false, err
	}
	m, _, err = d.record(p, offset)
	return m, err == nil, err
}

func (d *dictionary) lookup(p *partition, term []byte) (offset uint64, found bool, err error) {
	l, err := d.load(p)
	if err != nil {
		return 0, false, err
	}
	defer d.recoverFST(p, &err)
	r := l.readers.Get().(*vellum.Reader)
	offset, found, err = r.Get(term)
	l.readers.Put(r)
	if err != nil {
		return 0, false, d.fstError(p, err)
	}
	return offset, found, nil
}

// record returns the record at an offset of a partition, and its size in bytes.
func (d *dictionary) record(p *partition, offset uint64) (m postings.Meta, size uint64, err error) {
	if offset >= p.recLen {
		return m, 0, d.fstError(p, fmt.Errorf("record at %d of %d", offset, p.recLen))
	}
	src, err := d.records.Range(p.recOff+offset, min(maxRecord, p.recLen-offset))
	if err != nil {
		return m, 0, err
	}
	m, n, err := postings.DecodeMeta(src)
	if err == nil && m.DocFreq == 0 {
		err = fmt.Errorf("empty list: %w", base.ErrCorrupt)
	}
	if err != nil {
		return m, 0, fmt.Errorf("%s: record at %d: %w", d.records.Name(), p.recOff+offset, err)
	}
	return m, uint64(n), nil
}

// TermIterator iterates over a field's terms in byte order; it is not safe for concurrent use.
type TermIterator struct {
	d      *dictionary
	field  base.FieldID
	prefix []byte           // of all terms
	start  []byte           // the first term is not less
	filter vellum.Automaton // of the terms; nil: all
	next   int              // next partition to open
	part   *partition
	opened bool // part has terms left
	walker fstWalker
	given  uint64 // number of terms of part returned
	term   []byte
	offset uint64
	err    error
}

// iterator starts before field's first term with the prefix.
func (d *dictionary) iterator(field base.FieldID, prefix []byte) *TermIterator {
	it := d.iteratorFrom(field, prefix)
	it.prefix = it.start
	return it
}

// iteratorFrom starts before field's first term that is not less than start.
func (d *dictionary) iteratorFrom(field base.FieldID, start []byte) *TermIterator {
	next := d.find(field, start)
	if next < 0 { // before the field's first term, or the field has none
		next = sort.Search(len(d.partitions), func(i int) bool { return d.partitions[i].field >= field })
	}
	return &TermIterator{d: d, field: field, start: bytes.Clone(start), next: next}
}

// Next moves to the next term; false at the end or on an error.
func (it *TermIterator) Next() bool {
	for it.err == nil {
		if !it.opened && !it.open() {
			return false
		}
		if it.step(); it.err != nil {
			return false
		}
		if it.opened { // terms begin at the prefix: those with it come first
			return bytes.HasPrefix(it.term, it.prefix)
		}
	}
	return false
}

// open starts on the next partition; false if there is none.
func (it *TermIterator) open() bool {
	if it.next >= len(it.d.partitions) || it.d.partitions[it.next].field != it.field {
		return false
	}
	it.part = &it.d.partitions[it.next]
	it.next++
	l, err := it.d.load(it.part)
	if err != nil {
		it.err = err
		return false
	}
	defer it.d.recoverFST(it.part, &it.err)
	it.given = 0
	if err := it.walker.reset(l.data, it.start, it.filter, it.part.numTerms); err != nil {
		it.err = it.d.fstError(it.part, err)
		return false
	}
	it.opened = true
	return true
}

// step moves to the next term of the partition; at the end it is no longer open.
func (it *TermIterator) step() {
	if !it.opened {
		return
	}
	defer it.d.recoverFST(it.part, &it.err)
	var err error
	if it.term, it.offset, it.opened, err = it.walker.next(); err != nil {
		it.err = it.d.fstError(it.part, err)
		return
	}
	if !it.opened {
		return
	}
	if it.given++; it.given > it.part.numTerms {
		it.err = it.d.fstError(it.part, fmt.Errorf("term %d of %d", it.given, it.part.numTerms))
	}
}

// Term returns the current term, valid until Next.
func (it *TermIterator) Term() []byte { return it.term }

// Meta returns the current term's record.
func (it *TermIterator) Meta() (postings.Meta, error) {
	m, _, err := it.d.record(it.part, it.offset)
	return m, err
}

// Err returns the error that stopped the iteration.
func (it *TermIterator) Err() error { return it.err }
