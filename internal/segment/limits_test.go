package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func TestMetaLimits(t *testing.T) {
	good := func() *Meta {
		return &Meta{
			FormatVersion: FormatVersion, NumDocs: 4,
			Fields: []FieldMeta{{NumDocs: 4, TotalTokens: 4, NumTerms: 2, NumPostings: 2, AvgLen: 1}, {Name: "title"}},
			Files:  []FileMeta{{Name: "a"}, {Name: "b"}},
		}
	}
	for name, c := range map[string]struct {
		change func(m *Meta)
		want   error
	}{
		"good":          {func(*Meta) {}, nil},
		"other version": {func(m *Meta) { m.FormatVersion++ }, base.ErrVersion},
		"no documents":  {func(m *Meta) { *m = Meta{FormatVersion: FormatVersion, Fields: []FieldMeta{{}}} }, nil},
		"fewer than none": {func(m *Meta) {
			*m = Meta{FormatVersion: FormatVersion, Fields: []FieldMeta{{NumDocs: -1}}, NumDocs: -1}
		}, base.ErrCorrupt},
		"most documents":      {func(m *Meta) { m.NumDocs, m.Fields[0].AvgLen = base.MaxDocs, 4.0/base.MaxDocs }, nil},
		"too many documents":  {func(m *Meta) { m.NumDocs, m.Fields[0].AvgLen = base.MaxDocs+1, 4.0/(base.MaxDocs+1) }, base.ErrCorrupt},
		"negative count":      {func(m *Meta) { m.Fields[0].NumDocs = -1 }, base.ErrCorrupt},
		"count 0":             {func(m *Meta) { m.Fields[0].NumDocs = 0 }, nil},
		"count too high":      {func(m *Meta) { m.Fields[0].NumDocs, m.Fields[0].TotalTokens, m.Fields[0].AvgLen = 5, 8, 2 }, base.ErrCorrupt},
		"fewer tokens":        {func(m *Meta) { m.Fields[0].TotalTokens, m.Fields[0].AvgLen = 3, 0.75 }, base.ErrCorrupt},
		"fewer postings":      {func(m *Meta) { m.Fields[0].NumPostings = 1 }, base.ErrCorrupt},
		"another mean length": {func(m *Meta) { m.Fields[0].AvgLen = 2 }, base.ErrCorrupt},
		"field twice":         {func(m *Meta) { m.Fields[1].Name = "" }, base.ErrCorrupt},
		"no fields":           {func(m *Meta) { m.Fields = nil }, base.ErrCorrupt},
		"size":                {func(m *Meta) { m.Files[1].SizeBytes = -1 }, base.ErrCorrupt},
		"file twice":          {func(m *Meta) { m.Files[1].Name = "a" }, base.ErrCorrupt},
		"order of files":      {func(m *Meta) { m.Files[0].Name = "c" }, base.ErrCorrupt},
	} {
		m := good()
		c.change(m)
		if err := m.validate(); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if n := (&Meta{Files: []FileMeta{{SizeBytes: 3}, {SizeBytes: 4}}}).SizeBytes(); n != 7 {
		t.Errorf("%d bytes, want 7", n)
	}
	if f := (&FieldMeta{TotalTokens: 3}); f.avgLen(0) != 0 || f.avgLen(2) != 1.5 || (&FieldMeta{UnitLengths: true}).avgLen(2) != 1 {
		t.Error("mean lengths")
	}
	for _, tail := range []string{" ", "x", "{}", "null"} {
		payload := `{"format_version":1,"fields":[{"name":""}],"files":[]}` + tail
		if _, err := parseMeta([]byte(payload)); (tail == " ") != (err == nil) || err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("JSON with %q behind: error %v", tail, err)
		}
	}
}

func TestOptionsLimits(t *testing.T) {
	names := make([]string, base.MaxFields+1)
	for i := range names[1:] {
		names[1+i] = fmt.Sprint(i)
	}
	if err := validateFields(names[:base.MaxFields]); err != nil {
		t.Errorf("most fields: %v", err)
	}
	if err := validateFields(names); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("too many fields: %v", err)
	}
	o := Options{Fields: []string{""}, Codec: "raw"}
	if c, err := o.validate(base.MaxDocs); err != nil || c == nil {
		t.Errorf("most documents: %v", err)
	}
	if _, err := o.validate(base.MaxDocs + 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("too many documents: %v", err)
	}
}

// countedSource has documents, nothing else.
type countedSource struct {
	Source
	n    int
	drop *Bitmap
}

func (s countedSource) NumDocs() int     { return s.n }
func (s countedSource) Dropped() *Bitmap { return s.drop }

func TestDocMaps(t *testing.T) {
	drop := NewBitmap(4)
	drop.Set(0)
	drop.Set(2)
	maps, n, err := newDocMaps([]Source{countedSource{n: 3}, countedSource{n: 4, drop: drop}, countedSource{n: 2, drop: NewBitmap(2)}})
	if err != nil || n != 7 || maps[0].table != nil || maps[2].table != nil || maps[2].base != 5 || !slices.Equal(maps[1].table, []uint32{dropped, 3, dropped, 4}) {
		t.Errorf("%d documents, %+v, %v", n, maps, err)
	}
	var kept []int
	if err := maps[1].kept(func(doc int) error { kept = append(kept, doc); return nil }); err != nil || !slices.Equal(kept, []int{1, 3}) {
		t.Errorf("kept %d, %v", kept, err)
	}
	if err := maps[1].kept(func(int) error { return errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	for _, c := range []struct {
		sources []Source
		ok      bool
	}{
		{[]Source{countedSource{n: base.MaxDocs - 1}, countedSource{n: 1}}, true},
		{[]Source{countedSource{n: base.MaxDocs - 1}, countedSource{n: 2}}, false},
		{[]Source{countedSource{n: 3, drop: NewBitmap(4)}}, false},
		{[]Source{countedSource{n: 5, drop: NewBitmap(4)}}, false},
	} {
		if _, _, err := newDocMaps(c.sources); c.ok && err != nil || !c.ok && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: error %v", c.sources, err)
		}
	}
}

func TestBatchFull(t *testing.T) {
	for _, c := range []struct {
		postings, positions, lists int
		want                       bool
	}{
		{batchPostings - 1, batchPositions - 1, batchLists - 1, false},
		{batchPostings, 0, 0, true},
		{0, batchPositions, 0, true},
		{0, 0, batchLists, true},
	} {
		b := &batch{docIDs: make([]uint32, c.postings), positions: make([]byte, c.positions), parts: make([]listPart, c.lists)}
		if got := b.full(); got != c.want {
			t.Errorf("%+v: full %t", c, got)
		}
	}
}

func TestByteReader(t *testing.T) {
	for name, read := range map[string]func(r *byteReader){
		"number of no bytes":  func(r *byteReader) { r.uvarint() },
		"cut number":          func(r *byteReader) { r.src = []byte{0x80}; r.uvarint() },
		"number too long":     func(r *byteReader) { r.src = bytes.Repeat([]byte{0xff}, 11); r.uvarint() },
		"count too high":      func(r *byteReader) { r.src = binary.AppendUvarint(nil, 1<<31); r.count() },
		"bytes past the end":  func(r *byteReader) { r.src = []byte{1, 2}; r.take(3) },
		"fewer than no bytes": func(r *byteReader) { r.src = []byte{1, 2}; r.take(-1) },
		"cut bytes":           func(r *byteReader) { r.src = []byte{3, 2, 1}; r.bytes() },
	} {
		r := &byteReader{}
		if read(r); !r.bad || r.src != nil || r.uvarint() != 0 || r.count() != 0 || len(r.bytes()) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := &byteReader{src: append(binary.AppendUvarint(nil, 1<<31-1), 2, 'a', 'b')}
	if n, b := r.count(), r.bytes(); n != 1<<31-1 || string(b) != "ab" || cap(b) != 2 || r.bad || len(r.take(0)) != 0 || r.bad {
		t.Errorf("%d, %q of %d, %+v", n, b, cap(b), r)
	}
}

// A stored writer takes base.MaxDocs documents and large ones up to the limit.
func TestStoredWriterLimits(t *testing.T) {
	newWriter := func() *StoredWriter {
		w, err := NewStoredWriter(vfstest.NewMem(), "stored")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Abort() })
		return w
	}
	w := newWriter()
	w.numDocs, w.first = base.MaxDocs-1, base.MaxDocs-1
	if err := w.Add("", "x", nil); err != nil || w.NumDocs() != base.MaxDocs {
		t.Errorf("last document: %v", err)
	}
	if err := w.Add("", "x", nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("one more: error %v, want ErrBadInput", err)
	}
	w = newWriter()
	w.numDocs, w.first = base.MaxDocs-3, base.MaxDocs-3
	if err := w.addBlock(nil, 4, 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("block of too many: error %v, want ErrBadInput", err)
	}
	if err := w.addBlock(nil, 3, 1); err != nil || w.numDocs != base.MaxDocs || w.first != w.numDocs {
		t.Errorf("block of the last documents: %v", err)
	}
	if err := w.Add("", "", make([]corpus.Field, corpus.MaxFields)); errors.Is(err, base.ErrBadInput) && strings.Contains(err.Error(), "too large") {
		t.Errorf("most fields: %v", err)
	}
	w = newWriter()
	part := string(make([]byte, maxStoredDoc/16))
	extra := slices.Repeat([]corpus.Field{{Name: part, Value: part}}, 7)
	if err := w.Add(part, part, extra); !errors.Is(err, base.ErrBadInput) || w.NumDocs() != 0 {
		t.Errorf("too large: error %v", err)
	}
	// A block ends with the document that reaches its length.
	w = newWriter()
	for i, c := range []struct{ size, blocks int }{{storedBlockLen - 1, 0}, {1, 1}, {storedBlockLen, 2}} {
		if err := w.addEncoded(make([]byte, c.size)); err != nil {
			t.Fatal(err)
		}
		if got := len(w.dir) / storedEntryLen; got != c.blocks {
			t.Errorf("exactly %d: %d blocks, want %d", i, got, c.blocks)
		}
	}
}

// Readers of stored documents end when they are cancelled, and accept only whole trailers.
func TestStoredReaderLimits(t *testing.T) {
	good := storedPayload(t)
	r, err := newStoredReader(sealPayload(t, fileStored, good))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.eachBlock(ctx, func(int, *storedBlock) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	for n := range int(storedTrailerLen) {
		mem := vfstest.NewMem()
		w, err := sealed.Create(mem, "short", fileStored, storedVersion)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(good[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		faulty := vfstest.NewFaulty(mem, vfstest.Plan{})
		if _, err := OpenStored(faulty, "short"); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "no trailer") || len(faulty.StillOpen()) > 0 {
			t.Errorf("%d bytes: error %v, %q are still open", n, err, faulty.StillOpen())
		}
	}
	trailer := func(blocks, docs uint64) []byte {
		p := bytes.Clone(good)
		binary.LittleEndian.PutUint64(p[len(p)-16:], blocks)
		binary.LittleEndian.PutUint64(p[len(p)-8:], docs)
		return p
	}
	most := uint64(len(good)-storedTrailerLen) / storedEntryLen
	for _, c := range []struct {
		blocks, docs uint64
		ok           bool
	}{
		{2, 2, true},
		{0, 0, true},
		{0, 1, false},
		{1, 0, false},
		{3, 2, false},
		{2, base.MaxDocs, true},
		{2, base.MaxDocs + 1, false},
		{most, most, true},
		{most + 1, most + 1, false},
	} {
		if _, err := newStoredReader(sealPayload(t, fileStored, trailer(c.blocks, c.docs))); c.ok && err != nil || !c.ok && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%d documents in %d blocks: error %v", c.docs, c.blocks, err)
		}
	}
}

// Lookup in a table with a damaged chunk gives the document or an error.
func TestLookupInDamagedTable(t *testing.T) {
	const n = 24_000
	id := func(d int) []byte { return fmt.Append(nil, "id", d) }
	mem := vfstest.NewMem()
	w, err := sealed.Create(mem, "ids", fileIDs, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeWithTable(t.Context(), w, n, id), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := sealed.Open(mem, "ids", fileIDs, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	header := bytes.Index(mem.Get("ids"), f.Bytes()[:64])
	for at := sealed.ChunkLen + 5; at < int(f.Len()); at += sealed.ChunkLen {
		damaged := mem.Clone()
		data := damaged.Get("ids")
		data[header+at] ^= 1
		damaged.Set("ids", data)
		f, err := sealed.Open(damaged, "ids", fileIDs, 1)
		if err != nil {
			t.Fatal(err)
		}
		table, err := newIDTable(f, n)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for d := 0; d < n; d += 7 {
			doc, found, err := table.lookup(id(d), HashID(id(d)))
			if err != nil {
				failed++
			}
			if err == nil && (!found || int(doc) != d) || err != nil && !errors.Is(err, base.ErrCorrupt) {
				t.Fatalf("chunk at %d damaged: document %d: %d, %t, %v", at, d, doc, found, err)
			}
		}
		if failed == 0 {
			t.Errorf("chunk at %d damaged: no lookup fails", at)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Lookups in tables of all small sizes find each id and no other.
func TestLookupInSmallTables(t *testing.T) {
	for n := range 70 {
		id := func(d int) []byte { return fmt.Append(nil, n, "-", d) }
		payload := payloadOf(t, fileIDs, func(w *sealed.Writer) error { return writeWithTable(t.Context(), w, n, id) })
		table, err := newIDTable(sealPayload(t, fileIDs, payload), n)
		if err != nil {
			t.Fatal(err)
		}
		for d := range n + 20 {
			doc, found, err := table.lookup(id(d), HashID(id(d)))
			if err != nil || found != (d < n) || found && int(doc) != d {
				t.Errorf("%d ids: document %d: %d, %t, %v", n, d, doc, found, err)
			}
		}
		for i := range table.n {
			hash, _, err := table.entry(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range []uint64{hash - 1, hash, hash + 1} {
				want := uint64(0)
				for ; want < table.n; want++ {
					if at, _, _ := table.entry(want); at >= h {
						break
					}
				}
				if got, err := table.search(h); got != want || err != nil {
					t.Errorf("%d ids: search of %x: %d, %v, want %d", n, h, got, err, want)
				}
			}
		}
	}
	for size, ok := range map[int]bool{maxIDLen: true, maxIDLen + 1: false} {
		long := make([]byte, size)
		w, err := sealed.Create(vfstest.NewMem(), "ids", fileIDs, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeWithTable(t.Context(), w, 1, func(int) []byte { return long }); ok && err != nil || !ok && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("id of %d bytes: %v", size, err)
		}
		_ = w.Abort()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := writeHashTable(ctx, new(bytes.Buffer), 1, func(int) []byte { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Lists of all sizes about the limit of the radix sort are sorted, for any number of documents.
func TestRenumbererSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	for _, numDocs := range []int{1023, 1024, 2047, 2048, 2049, 5000, 1 << 22, 1<<22 + 1} {
		for _, n := range []int{1, 1000, 1023, 1024, 1025, 3000} {
			if n > numDocs {
				continue
			}
			r := &renumberer{newID: make([]uint32, numDocs)}
			for i := range n {
				r.keys = append(r.keys, uint64(rng.IntN(numDocs))<<32|uint64(i))
			}
			r.keys[0], r.keys[n-1] = uint64(numDocs-1)<<32, 1
			want := slices.Clone(r.keys)
			slices.SortFunc(want, func(a, b uint64) int { return int(a>>32) - int(b>>32) })
			r.sort()
			for i := range want {
				if r.keys[i]>>32 != want[i]>>32 {
					t.Fatalf("%d of %d documents: key %d is %x, want %x", n, numDocs, i, r.keys[i], want[i])
				}
			}
		}
	}
}

func TestListCacheSets(t *testing.T) {
	for terms, want := range map[uint64]int{0: 1, 1: 2, 3: 4, 4: 8, 7: 8, 8: 16, maxCacheSets / 2: maxCacheSets, 1 << 40: maxCacheSets} {
		if got := len(newListCache(terms).sets); got != want {
			t.Errorf("%d terms: %d sets, want %d", terms, got, want)
		}
	}
	c := newListCache(0)
	var l postings.List
	for i := range cacheWays + 1 {
		l.DocFreq = uint32(i + 1)
		c.put(7, 0, []byte{byte(i)}, &l)
	}
	kept := 0
	for i := range cacheWays + 1 {
		if l := c.get(7, 0, []byte{byte(i)}); l != nil {
			if kept++; int(l.DocFreq) != i+1 {
				t.Errorf("list %d has %d documents", i, l.DocFreq)
			}
		}
	}
	if last := byte(cacheWays); kept != cacheWays || c.get(7, 0, []byte{last}) == nil || c.get(7, 1, []byte{last}) != nil || c.get(8, 0, []byte{last}) != nil {
		t.Errorf("%d lists are kept, want %d", kept, cacheWays)
	}
}

func TestBitmapLimits(t *testing.T) {
	head := func(n uint64, words int) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), make([]byte, 8*words)...)
	}
	for name, c := range map[string]struct {
		data []byte
		ok   bool
	}{
		"no head":     {head(0, 0)[:7], false},
		"empty":       {head(0, 0), true},
		"one":         {head(1, 1), true},
		"64":          {head(64, 1), true},
		"65":          {head(65, 1), false},
		"too long":    {head(64, 2), false},
		"too many":    {head(base.MaxDocs+1, 0), false},
		"bit outside": {append(head(3, 0), 8, 0, 0, 0, 0, 0, 0, 0), false},
		"last bit":    {append(head(3, 0), 4, 0, 0, 0, 0, 0, 0, 0), true},
	} {
		if _, err := DecodeBitmap(c.data); c.ok && err != nil || !c.ok && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
