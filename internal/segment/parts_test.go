package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func openSmall(t *testing.T) *Segment {
	t.Helper()
	s, err := Open(smallSegment(t), "seg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Each part of Verify ends when it is cancelled; progress counts all bytes of files and lists.
func TestVerifyParts(t *testing.T) {
	s := openSmall(t)
	want := int64(0)
	for _, f := range s.files {
		want += int64(f.Len())
		if filepath.Base(f.Name()) == fileColumns {
			want += int64(f.Len())
		}
	}
	for f := range s.meta.Fields {
		for it := s.Terms(base.FieldID(f), nil); it.Next(); {
			m, err := it.Meta()
			if err != nil {
				t.Fatal(err)
			}
			want += int64(m.Length + m.PosLength + m.FrontierLength)
		}
	}
	v := &segmentVerifier{s: s}
	if err := v.verify(t.Context()); err != nil || v.done != want {
		t.Errorf("%d bytes, want %d; %v", v.done, want, err)
	}
	last := int64(0)
	if err := s.Verify(t.Context(), func(done, total int64) {
		if last = done; done > total || total != 2*s.meta.SizeBytes() {
			t.Errorf("%d of %d bytes", done, total)
		}
	}); err != nil || last != 2*s.meta.SizeBytes() {
		t.Errorf("ended at %d, %v", last, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"field":  v.verifyField(ctx, 0),
		"ids":    s.ids.verify(ctx),
		"stored": v.verifyStored(ctx),
		"merge":  new(merger).run(ctx, []Source{&tinySource{docs: [][2]string{{"a", ""}}}}, []docMap{{n: 1}}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want Canceled", name, err)
		}
	}
}

func TestSegmentLimits(t *testing.T) {
	s := openSmall(t)
	n := base.DocID(s.NumDocs())
	_, idErr := s.ID(n)
	_, sourceErr := s.Source(NewBitmap(int(n) + 1))
	_, orderErr := s.stored.order.at(n)
	for name, err := range map[string]error{"ID": idErr, "Stored": s.Stored(n, new(StoredDoc)), "Source": sourceErr, "order": orderErr} {
		if !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: error %v, want ErrBadInput", name, err)
		}
	}
	if at, err := s.stored.order.at(n - 1); err != nil || at != 3 {
		t.Errorf("last document is number %d, %v", at, err)
	}
	if at, err := (*array)(nil).at(7); err != nil || at != 7 {
		t.Errorf("without an array: number %d, %v", at, err)
	}
	src, err := s.Source(NewBitmap(int(n)))
	if err != nil || src.Lengths(2) != nil || len(src.Lengths(1)) != int(n) || s.Dir() != "seg" || !s.HasStored() {
		t.Errorf("source %+v, %v", src, err)
	}
	if f, ok := s.FieldID("title"); f != 1 || !ok {
		t.Errorf("field %d, %t", f, ok)
	}
	if _, ok := s.FieldID("other"); ok {
		t.Error("an unknown field is found")
	}
	size := map[string]int64{}
	for _, f := range s.meta.Files {
		size[f.Name] = f.SizeBytes
	}
	want := Sizes{
		Dictionary: size[fileTerms] + size[fileRecords], Postings: size[filePostings], Positions: size[filePositions], Frontiers: size[fileFrontiers],
		Lengths: size[fileLengths], IDs: size[fileIDs], Stored: size[fileStored] + size[fileOrder] + size[fileInverse],
		Columns: size[fileColumns],
	}
	if got := s.Sizes(); got != want || got.Total() != s.meta.SizeBytes() {
		t.Errorf("sizes %+v, want %+v", got, want)
	}
	if got := (Sizes{1, 2, 3, 4, 5, 6, 7, 8}).Add(Sizes{10, 20, 30, 40, 50, 60, 70, 80}); got != (Sizes{11, 22, 33, 44, 55, 66, 77, 88}) {
		t.Errorf("sum %+v", got)
	}
	for n := range []int{0, 1, 1023, 1024, 1025, 2048} {
		var b bytes.Buffer
		values := make([]uint32, n)
		for i := range values {
			values[i] = uint32(i * i)
		}
		if err := writeUint32s(&b, values); err != nil || !slices.Equal(asUint32s(b.Bytes()), values) && n > 0 {
			t.Errorf("%d numbers: %d bytes, %v", n, b.Len(), err)
		}
	}
	for f, want := range map[base.FieldID]string{1: `field "title": term "x"`, 2: `field "": term "x"`} {
		if err := s.listError(f, []byte("x"), base.ErrCorrupt); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}

type dictionaryEntry struct {
	field base.FieldID
	term  string
	bytes int // if not 0, of the partition's terms so far
}

func makeDictionary(t *testing.T, numFields int, entries []dictionaryEntry) *dictionary {
	t.Helper()
	var terms []byte
	records := payloadOf(t, fileRecords, func(r *sealed.Writer) error {
		terms = payloadOf(t, fileTerms, func(w *sealed.Writer) error {
			d := newDictionaryWriter(w, r)
			for i, e := range entries {
				if e.bytes > 0 {
					d.keyBytes = e.bytes
				}
				if err := d.add(e.field, []byte(e.term), &postings.Meta{DocFreq: 1, CollFreq: 1, First: uint32(i), Last: uint32(i), Length: 4, Max: 1, FrontierLength: 2}); err != nil {
					return err
				}
			}
			return d.finish()
		})
		return nil
	})
	d, err := newDictionary(sealPayload(t, fileTerms, terms), sealPayload(t, fileRecords, records), numFields)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A partition ends with its field, its number of terms, or their bytes.
func TestPartitions(t *testing.T) {
	t.Parallel()
	short := func(n int) (entries []dictionaryEntry) {
		for i := range n {
			entries = append(entries, dictionaryEntry{term: fmt.Sprintf("%06d", i)})
		}
		return entries
	}
	for name, c := range map[string]struct {
		entries []dictionaryEntry
		want    int
	}{
		"none":           {nil, 0},
		"one term more":  {short(partitionTerms + 1), 2},
		"most bytes":     {[]dictionaryEntry{{term: "a"}, {term: "b", bytes: partitionKeyBytes - 1}}, 1},
		"one byte more":  {[]dictionaryEntry{{term: "a"}, {term: "b", bytes: partitionKeyBytes}, {term: "c"}}, 2},
		"several fields": {[]dictionaryEntry{{term: "a"}, {term: "b"}, {1, "a", 0}, {3, "b", 0}}, 3},
	} {
		d := makeDictionary(t, 4, c.entries)
		if len(d.partitions) != c.want || d.numTerms() != uint64(len(c.entries)) {
			t.Errorf("%s: %d partitions of %d terms, want %d of %d", name, len(d.partitions), d.numTerms(), c.want, len(c.entries))
		}
		for i := 0; i < len(c.entries); i += 1 + len(c.entries)/100 {
			if m, found, err := d.meta(c.entries[i].field, []byte(c.entries[i].term)); !found || err != nil || int(m.First) != i {
				t.Errorf("%s: term %.10q: %t, %v", name, c.entries[i].term, found, err)
			}
		}
		next := 0
		for f := range base.FieldID(4) {
			it := d.iterator(f, nil)
			for ; it.Next(); next++ {
				if e := c.entries[next]; e.field != f || e.term != string(it.Term()) {
					t.Fatalf("%s: term %.10q of field %d, want %.10q", name, it.Term(), f, e.term)
				}
			}
			if it.Err() != nil || it.Next() {
				t.Errorf("%s: error %v", name, it.Err())
			}
		}
		if next != len(c.entries) {
			t.Errorf("%s: %d terms", name, next)
		}
	}
	// Prefixes at the border of partitions.
	entries := short(2000)
	for i := 500; i < len(entries); i += 500 {
		entries[i].bytes = partitionKeyBytes
	}
	d := makeDictionary(t, 4, entries)
	for prefix, want := range map[string]int{"000": 1000, "0004": 100, "0005": 100, "00049": 10, "000499": 1, "000500": 1, "0020": 0, "9": 0, "": 2000} {
		n := 0
		it := d.iterator(0, []byte(prefix))
		for it.Next() {
			n++
		}
		if n != want || it.Err() != nil || len(d.partitions) != 4 {
			t.Errorf("prefix %q: %d terms in %d partitions, want %d, %v", prefix, n, len(d.partitions), want, it.Err())
		}
	}
}

func TestPartitionTable(t *testing.T) {
	type entry struct {
		field, fst, terms, records uint64
		first                      string
	}
	encode := func(n uint64, entries ...entry) (b []byte) {
		b = binary.AppendUvarint(b, n)
		for _, e := range entries {
			for _, v := range []uint64{e.field, e.fst, e.terms, e.records, uint64(len(e.first))} {
				b = binary.AppendUvarint(b, v)
			}
			b = append(b, e.first...)
		}
		return b
	}
	a, z := entry{0, 6, 5, 5, "a"}, entry{1, 4, 1, 5, "a"}
	changed := func(e entry, change func(e *entry)) entry { change(&e); return e }
	for name, c := range map[string]struct {
		table []byte
		ok    bool
	}{
		"good":                   {encode(2, a, z), true},
		"none":                   {encode(0), false}, // the files are not empty
		"fewer":                  {encode(1, a), false},
		"bytes behind":           {append(encode(2, a, z), 0), false},
		"cut":                    {encode(2, a, z)[:12], false},
		"more than fit":          {encode(3, a, z), false},
		"far more than fit":      {encode(1 << 30), false},
		"unknown field":          {encode(2, a, changed(z, func(e *entry) { e.field = 2 })), false},
		"transducer too long":    {encode(2, a, changed(z, func(e *entry) { e.fst++ })), false},
		"transducer too short":   {encode(2, a, changed(z, func(e *entry) { e.fst-- })), false},
		"records too long":       {encode(2, a, changed(z, func(e *entry) { e.records++ })), false},
		"records too short":      {encode(2, a, changed(z, func(e *entry) { e.records-- })), false},
		"no terms":               {encode(2, a, changed(z, func(e *entry) { e.terms = 0 })), false},
		"more terms than bytes":  {encode(2, changed(a, func(e *entry) { e.terms = 6 }), z), false},
		"no first term":          {encode(2, a, changed(z, func(e *entry) { e.first = "" })), false},
		"same field, same term":  {encode(2, a, changed(z, func(e *entry) { e.field = 0 })), false},
		"same field, next term":  {encode(2, a, changed(z, func(e *entry) { e.field, e.first = 0, "b" })), true},
		"former field":           {encode(2, changed(a, func(e *entry) { e.field = 1 }), changed(z, func(e *entry) { e.field, e.first = 0, "b" })), false},
		"later field, same term": {encode(2, a, z), true},
	} {
		parts, err := parsePartitions(c.table, 10, 10, 2)
		if c.ok && (err != nil || len(parts) != 2 || parts[1].fstOff != 6 || parts[1].recOff != 5) || !c.ok && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: %d partitions, %v", name, len(parts), err)
		}
	}
	if parts, err := parsePartitions(encode(0), 0, 0, 2); err != nil || len(parts) != 0 {
		t.Errorf("empty: %d partitions, %v", len(parts), err)
	}
	d := makeDictionary(t, 1, []dictionaryEntry{{term: "a"}, {term: "b"}})
	p := &d.partitions[0]
	for offset, ok := range map[uint64]bool{0: true, p.recLen: false, p.recLen + 1: false, p.recLen - 1: false} {
		if _, _, err := d.record(p, offset); ok != (err == nil) || err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("record at %d of %d: %v", offset, p.recLen, err)
		}
	}
	if d.find(0, []byte("A")) != -1 || d.find(1, []byte("a")) != -1 || d.find(0, []byte("zz")) != 0 {
		t.Error("partitions of terms")
	}
}

// Write ends soon after it is cancelled at any operation, and leaves nothing.
func TestWriteCancelledAnywhere(t *testing.T) {
	t.Parallel()
	whole := smallSegment(t)
	s, err := Open(whole, "seg")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := Options{Fields: []string{"", "title"}, Codec: "raw", Positions: true, Stored: true, Threads: 1}
	cancelled := 0
	for at := 1; ; at++ {
		ctx, cancel := context.WithCancel(t.Context())
		mem, operations := vfstest.NewMem(), 0
		faulty := vfstest.NewFaulty(mem, vfstest.Plan{Before: func() {
			if operations++; operations == at {
				cancel()
			}
		}})
		src, err := s.Source(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Write(ctx, faulty, "copy", o, []Source{src}, nil)
		ended := operations < at
		cancel()
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("cancelled at operation %d: %q are still open", at, open)
		}
		if err != nil {
			if cancelled++; !errors.Is(err, context.Canceled) || len(mem.Names()) > 0 {
				t.Errorf("cancelled at operation %d: error %v, files %q", at, err, mem.Names())
			}
		}
		if ended {
			break
		}
	}
	if cancelled < 10 {
		t.Errorf("%d operations were cancelled", cancelled)
	}
}

// Terms that are not in order end the dictionary with an error.
func TestWriteDictionaryRefuses(t *testing.T) {
	meta := postings.Meta{DocFreq: 1, CollFreq: 1, Length: 4, Max: 1, FrontierLength: 2}
	for terms, ok := range map[string]bool{"ab": true, "ba": false} {
		w := &writer{fs: vfstest.NewMem(), meta: Meta{Fields: make([]FieldMeta, 1)}}
		names := [2]*sealed.Writer{}
		for i, name := range []string{fileTerms, fileRecords} {
			f, err := w.create(name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Abort() }()
			names[i] = f
		}
		batches := make(chan *termBatch, 1)
		batches <- &termBatch{terms: []byte(terms), ends: []int{1, 2}, metas: []postings.Meta{meta, meta}}
		close(batches)
		if err := w.writeDictionary(t.Context(), newDictionaryWriter(names[0], names[1]), batches); ok != (err == nil) {
			t.Errorf("terms %q: error %v", terms, err)
		}
	}
}

// An equal hash alone does not make an id.
func TestLookupComparesIDs(t *testing.T) {
	payload := payloadOf(t, fileIDs, func(w *sealed.Writer) error {
		return writeWithTable(t.Context(), w, 1, func(int) []byte { return []byte("mine") })
	})
	binary.LittleEndian.PutUint64(payload[len(payload)-hashEntry:], xxh3.HashString("other"))
	table, err := newIDTable(sealPayload(t, fileIDs, payload), 1)
	if err != nil {
		t.Fatal(err)
	}
	if doc, found, err := table.lookup([]byte("other"), HashID([]byte("other"))); found || err != nil {
		t.Errorf("document %d is found, %v", doc, err)
	}
}
