package ciff_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/griffin-search/griffin/ciff"
	"github.com/griffin-search/griffin/internal/shareddata"
)

type index struct {
	header ciff.Header
	lists  []ciff.PostingsList
	docs   []ciff.DocRecord
}

func read(r io.Reader) (*index, error) {
	rd, err := ciff.NewReader(r)
	if err != nil {
		return nil, err
	}
	ix := &index{header: rd.Header()}
	for {
		var l ciff.PostingsList
		if err := rd.NextList(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		ix.lists = append(ix.lists, l)
	}
	for {
		var d ciff.DocRecord
		if err := rd.NextDoc(&d); errors.Is(err, io.EOF) {
			return ix, nil
		} else if err != nil {
			return nil, err
		}
		ix.docs = append(ix.docs, d)
	}
}

func (ix *index) write(w io.Writer) error {
	wr, err := ciff.NewWriter(w, ix.header)
	if err != nil {
		return err
	}
	for i := range ix.lists {
		if err := wr.WriteList(&ix.lists[i]); err != nil {
			return err
		}
	}
	for i := range ix.docs {
		if err := wr.WriteDoc(&ix.docs[i]); err != nil {
			return err
		}
	}
	return wr.Close()
}

func (ix *index) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ix.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func worked() *index {
	return &index{
		header: ciff.Header{
			Version: 1, NumPostingsLists: 2, NumDocs: 3, TotalPostingsLists: 2, TotalDocs: 3,
			TotalTermsInCollection: 6, AverageDocLength: 2, Description: "worked example",
		},
		lists: []ciff.PostingsList{
			{Term: "head", Postings: []ciff.Posting{{DocID: 0, TF: 1}, {DocID: 2, TF: 3}}},
			{Term: "text", Postings: []ciff.Posting{{DocID: 1, TF: 2}}},
		},
		docs: []ciff.DocRecord{
			{DocID: 0, CollectionDocID: "WSJ_1", DocLength: 1},
			{DocID: 1, CollectionDocID: "TREC_DOC_1", DocLength: 2},
			{DocID: 2, CollectionDocID: "DOC222", DocLength: 3},
		},
	}
}

func random(seed uint64) *index {
	rng := rand.New(rand.NewPCG(seed, 0))
	numDocs, numLists := rng.IntN(2000), rng.IntN(300)
	if numDocs == 0 {
		numLists = 0
	}
	ix := &index{header: ciff.Header{
		Version: 1, NumPostingsLists: int32(numLists), NumDocs: int32(numDocs),
		TotalPostingsLists: int32(numLists) + 1, TotalDocs: int32(numDocs) + 5, TotalTermsInCollection: rng.Int64(), AverageDocLength: rng.Float64() * 1e6,
	}}
	for i := range numLists {
		l := ciff.PostingsList{Term: fmt.Sprintf("term%03d", i)}
		for d := range numDocs {
			if rng.IntN(i+1) == 0 {
				l.Postings = append(l.Postings, ciff.Posting{DocID: int32(d), TF: 1 + rng.Int32N(1<<rng.IntN(31))})
			}
		}
		ix.lists = append(ix.lists, l)
	}
	for d := range numDocs {
		ix.docs = append(ix.docs, ciff.DocRecord{DocID: int32(d), CollectionDocID: fmt.Sprint("id", d), DocLength: rng.Int32()})
	}
	return ix
}

func TestFileByOthersRoundTrips(t *testing.T) {
	want, err := os.ReadFile(shareddata.CIFF(t))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if len(ix.docs) != 3 || ix.docs[0].CollectionDocID != "WSJ_1" || len(ix.lists) != int(ix.header.NumPostingsLists) {
		t.Errorf("read %+v", ix)
	}
	if got := ix.bytes(t); !bytes.Equal(got, want) {
		t.Errorf("written back:\n%q\nwas:\n%q", got, want)
	}
}

func TestRandomFilesRoundTrip(t *testing.T) {
	for seed := range uint64(20) {
		want := random(seed)
		b := want.bytes(t)
		for _, r := range []io.Reader{bytes.NewReader(b), iotest.HalfReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
			got, err := read(r)
			if err != nil {
				t.Fatal(err)
			}
			if !equal(got, want) {
				t.Fatalf("seed %d: the index read differs", seed)
			}
		}
	}
}

// nil and empty lists are the same.
func equal(a, b *index) bool {
	return a.header == b.header && slices.Equal(a.docs, b.docs) &&
		slices.EqualFunc(a.lists, b.lists, func(x, y ciff.PostingsList) bool {
			return x.Term == y.Term && slices.Equal(x.Postings, y.Postings)
		})
}

// Every byte is necessary.
func TestEveryCutIsAnError(t *testing.T) {
	b := worked().bytes(t)
	for n := range b {
		_, err := read(bytes.NewReader(b[:n]))
		if !errors.Is(err, ciff.ErrInvalid) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("truncated at byte %d: %v", n, err)
		}
	}
	_, err := read(bytes.NewReader(append(b, 0)))
	if want := fmt.Sprintf("ciff: byte %d: end: invalid CIFF data: more data", len(b)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("one byte too many: %v, want %s", err, want)
	}
}

func TestReadErrorIsNotCalledInvalid(t *testing.T) {
	broken := errors.New("disk gone")
	b := worked().bytes(t)
	for n := range b {
		_, err := read(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, ciff.ErrInvalid) {
			t.Errorf("after byte %d: %v", n, err)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	b := worked().bytes(t)
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"df", "\x10\x02\x18\x04", "\x10\x03\x18\x04", `posting list 0 (term "head"): invalid CIFF data: document frequency 3, but 2 postings`},
		{"cf", "\x10\x02\x18\x04", "\x10\x02\x18\x05", `posting list 0 (term "head"): invalid CIFF data: collection frequency 5, but the frequencies sum up to 4`},
		{"gap", "\x22\x04\x08\x02\x10\x03", "\x22\x04\x08\x00\x10\x03", "posting 1: gap 0: documents must increase"},
		{"range", "\x22\x04\x08\x02\x10\x03", "\x22\x04\x08\x03\x10\x03", "posting 1: docid 3, but there are 3 documents"},
		{"tf", "\x22\x04\x08\x02\x10\x03", "\x22\x04\x08\x02\x10\x00", "posting 1: term frequency 0"},
		{"term", "head", "h\xffad", "the term is not UTF-8"},
		{"doc order", "\x08\x01\x12\x0aTREC", "\x08\x02\x12\x0aTREC", "document record 1: invalid CIFF data: docid 2, want 1"},
		{"version", "\x08\x01\x10\x02", "\x08\x09\x10\x02", "header: invalid CIFF data: version 9"},
		{"type", "\x10\x02\x18\x04", "\x12\x02\x18\x04", "a field has the wrong type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := bytes.Replace(b, []byte(c.old), []byte(c.new), 1)
			if bytes.Equal(bad, b) {
				t.Fatalf("%s: nothing was replaced", c.name)
			}
			_, err := read(bytes.NewReader(bad))
			if !errors.Is(err, ciff.ErrInvalid) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "ciff: byte ") {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		})
	}
}

func TestUnknownFieldsArePassedOver(t *testing.T) {
	// A field 9 of each type, then a valid term without postings.
	list := "\x48\x05" + "\x4d1234" + "\x4912345678" + "\x4a\x02ab" + "\x0a\x01x"
	file := "\x06\x08\x01\x10\x01\x20\x01" + string(rune(len(list))) + list
	ix, err := read(strings.NewReader(file))
	if err != nil || len(ix.lists) != 1 || ix.lists[0].Term != "x" {
		t.Errorf("%+v, %v", ix, err)
	}
}

// Lengths and counts without the announced data.
func TestHugeClaimsAllocateLittle(t *testing.T) {
	header := "\x0d\x08\x01\x10\xff\xff\xff\xff\x07\x20\xff\xff\xff\xff\x07"
	for _, file := range []string{
		"\xff\xff\xff\xff\x07\x08\x01",
		header + "\xff\xff\xff\xff\x07\x0a\xff\xff\xff\xff\x07",
		header + "\xff\xff\xff\xff\x07\x22\xff\xff\xff\xff\x07",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := read(strings.NewReader(file)); !errors.Is(err, ciff.ErrInvalid) {
			t.Errorf("%q: %v", file, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%q: %d bytes allocated", file, n)
		}
	}
}

func TestReadDocsFirst(t *testing.T) {
	want := random(3)
	f := bytes.NewReader(append([]byte("before"), want.bytes(t)...))
	if _, err := f.Seek(6, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var docs []ciff.DocRecord
	r, err := ciff.ReadDocsFirst(f, func(d *ciff.DocRecord) error {
		docs = append(docs, *d)
		return nil
	})
	if err != nil || !reflect.DeepEqual(docs, want.docs) {
		t.Fatalf("%d documents, want %d (%v)", len(docs), len(want.docs), err)
	}
	var l ciff.PostingsList
	for i := range want.lists {
		if err := r.NextList(&l); err != nil || l.Term != want.lists[i].Term || !slices.Equal(l.Postings, want.lists[i].Postings) {
			t.Fatalf("list %d: %v", i, err)
		}
	}
	if err := r.NextList(&l); !errors.Is(err, io.EOF) {
		t.Errorf("after the last list: %v", err)
	}
	stop := errors.New("stop")
	if _, err := ciff.ReadDocsFirst(bytes.NewReader(want.bytes(t)), func(*ciff.DocRecord) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's error: %v", err)
	}
}

func TestWriterRefusesInvalidInput(t *testing.T) {
	postings := func(p ...ciff.Posting) func(*index) {
		return func(ix *index) { ix.lists[0].Postings = p }
	}
	for name, spoil := range map[string]func(*index){
		"order":            postings(ciff.Posting{DocID: 1, TF: 1}, ciff.Posting{DocID: 1, TF: 1}),
		"range":            postings(ciff.Posting{DocID: 3, TF: 1}),
		"negative":         postings(ciff.Posting{DocID: -1, TF: 1}),
		"tf":               postings(ciff.Posting{DocID: 1}),
		"term":             func(ix *index) { ix.lists[0].Term = "\xff" },
		"missing list":     func(ix *index) { ix.lists = ix.lists[:1] },
		"list too many":    func(ix *index) { ix.lists = append(ix.lists, ix.lists[0]) },
		"missing document": func(ix *index) { ix.docs = ix.docs[:2] },
		"document order":   func(ix *index) { ix.docs[1].DocID = 2 },
		"document id":      func(ix *index) { ix.docs[1].CollectionDocID = "" },
		"length":           func(ix *index) { ix.docs[1].DocLength = -1 },
		"version":          func(ix *index) { ix.header.Version = 2 },
		"total":            func(ix *index) { ix.header.TotalDocs = 2 },
		"description":      func(ix *index) { ix.header.Description = "\xff" },
	} {
		t.Run(name, func(t *testing.T) {
			ix := worked()
			spoil(ix)
			if err := ix.write(io.Discard); !errors.Is(err, ciff.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestWriterReportsWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	if err := worked().write(writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Every input that can be read can be written, and the output reads the same.
func FuzzCIFF(f *testing.F) {
	f.Add(worked().bytes(f))
	f.Add([]byte("\xff\xff\xff\xff\x07\x08\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ix, err := read(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ciff.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := read(bytes.NewReader(ix.bytes(t)))
		if err != nil || !equal(ix, again) {
			t.Fatalf("written back, the index differs: %v", err)
		}
	})
}

func BenchmarkReadLists(b *testing.B) {
	const numDocs, numPostings = 100_000, 1_000_000
	ix := &index{header: ciff.Header{Version: 1, NumDocs: numDocs, TotalDocs: numDocs}}
	rng := rand.New(rand.NewPCG(1, 0))
	for n := 0; n < numPostings; {
		l := ciff.PostingsList{Term: fmt.Sprintf("term%06d", len(ix.lists))}
		for doc, step := int32(0), 1+rng.Int32N(1<<rng.IntN(16)); doc < numDocs; doc += 1 + rng.Int32N(step) {
			l.Postings = append(l.Postings, ciff.Posting{DocID: doc, TF: 1 + rng.Int32N(3)})
		}
		n += len(l.Postings)
		ix.lists = append(ix.lists, l)
	}
	ix.header.NumPostingsLists = int32(len(ix.lists))
	ix.header.TotalPostingsLists = ix.header.NumPostingsLists
	for doc := range int32(numDocs) {
		ix.docs = append(ix.docs, ciff.DocRecord{DocID: doc, CollectionDocID: "d"})
	}
	data := ix.bytes(b)
	postings := 0
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := ciff.NewReader(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		var l ciff.PostingsList
		for r.NextList(&l) == nil {
			postings += len(l.Postings)
		}
	}
	b.ReportMetric(float64(postings)/b.Elapsed().Seconds(), "postings/s")
}
