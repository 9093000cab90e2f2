package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Find keeps lists without parts, and only if their terms exist.
func TestFindCachesLists(t *testing.T) {
	s := openSmall(t)
	var l postings.List
	cached := func(term string) bool {
		return s.lists.get(s.lists.hash(0, []byte(term)), 0, []byte(term)) != nil
	}
	for range 2 {
		if found, err := s.Find(0, []byte("q"), &l); found || err != nil || cached("q") {
			t.Errorf("a term that does not exist: found %t, %v, cached %t", found, err, cached("q"))
		}
	}
	if found, err := s.FindParts(0, []byte("b"), Positions, &l); !found || err != nil || cached("b") {
		t.Errorf("with positions: found %t, %v, cached %t", found, err, cached("b"))
	}
	for range 2 {
		shared, err := FindShared(s, 0, []byte("q"))
		if again, _ := FindShared(s, 0, []byte("q")); shared != nil || err != nil || again != nil {
			t.Errorf("a shared list of no term: %v, %v", shared, err)
		}
	}
	if found, err := s.Find(0, []byte("a"), &l); !found || err != nil || !cached("a") {
		t.Errorf("without parts: found %t, %v, cached %t", found, err, cached("a"))
	}
	first, err := FindShared(s, 0, []byte("a"))
	if again, _ := FindShared(s, 0, []byte("a")); err != nil || first == nil || first != again || first.DocFreq != l.DocFreq {
		t.Errorf("the shared list: %v, %v, then %v", first, err, again)
	}
	if found, err := s.FindParts(0, []byte("a"), Positions|Frontiers, &l); !found || err != nil || !l.HasPositions() {
		t.Errorf("with positions, after a list without them: found %t, %v", found, err)
	}
	mark := postings.List{Meta: postings.Meta{DocFreq: 99}}
	s.lists.put(s.lists.hash(0, []byte("c")), 0, []byte("c"), &mark)
	if found, err := s.Find(0, []byte("c"), &l); !found || err != nil || l.DocFreq != 99 {
		t.Errorf("a cached list: found %t, %v, %d documents", found, err, l.DocFreq)
	}
}

// A new list takes a free slot of its set, whatever other sets hold.
func TestListCacheFillsFreeSlots(t *testing.T) {
	c := newListCache(1)
	if len(c.sets) != 2 {
		t.Fatalf("%d sets, the test needs 2", len(c.sets))
	}
	var l postings.List
	put := func(hash uint64, term byte) { c.put(hash, 0, []byte{term}, &l) }
	for term := range byte(3) {
		put(0, term)
		for other := range byte(cacheWays - 1) {
			put(1, cacheWays*term+other)
		}
	}
	for term := range byte(3) {
		if c.get(0, 0, []byte{term}) == nil {
			t.Errorf("list %d is not there, although its set has free slots", term)
		}
	}
}

// The search of hashes finds the first that is not less, in tables of any distribution.
func TestSearchInSkewedTables(t *testing.T) {
	const n = 300
	for name, hash := range map[string]func(i uint64) uint64{
		"small":   func(i uint64) uint64 { return 2 * i },
		"large":   func(i uint64) uint64 { return ^uint64(0) - 2*(n-i) },
		"equal":   func(uint64) uint64 { return 1 << 63 },
		"two":     func(i uint64) uint64 { return i / (n / 2) << 63 },
		"uniform": func(i uint64) uint64 { return i * (1 << 63 / n * 2) },
	} {
		t.Run(name, func(t *testing.T) {
			payload := payloadOf(t, fileIDs, func(w *sealed.Writer) error {
				return writeWithTable(t.Context(), w, n, func(int) []byte { return nil })
			})
			hashes := make([]uint64, n)
			for i := range hashes {
				hashes[i] = hash(uint64(i))
				binary.LittleEndian.PutUint64(payload[len(payload)-hashEntry*(n-i):], hashes[i])
			}
			table, err := newIDTable(sealPayload(t, fileIDs, payload), n)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for _, h := range []uint64{hashes[i] - 1, hashes[i], hashes[i] + 1} {
					want, _ := slices.BinarySearch(hashes, h)
					if got, err := table.search(h); got != uint64(want) || err != nil {
						t.Fatalf("search of %x: %d, %v, want %d", h, got, err, want)
					}
				}
			}
		})
	}
}

// A spool keeps up to spoolLen bytes, then waits for its turn and writes directly.
func TestSpoolWaitsForTurn(t *testing.T) {
	newSpool := func(turn <-chan struct{}, ctx context.Context) (*spool, *sealed.Writer) {
		w := new(writer)
		w.fs = vfstest.NewMem()
		var out [3]*sealed.Writer
		for i, name := range []string{filePostings, filePositions, fileFrontiers} {
			f, err := w.create(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Abort() })
			out[i] = f
		}
		e := &encoder{files: &listFiles{out[0], out[1], out[2]}, piece: &piece{turn: turn}}
		e.out.postings = spool{ctx: ctx, e: e, out: out[0]}
		return &e.out.postings, out[0]
	}
	turn := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, out := newSpool(turn, ctx)
	if n, err := s.Write(make([]byte, spoolLen-1)); n != spoolLen-1 || err != nil || out.Offset() != 0 {
		t.Errorf("below the limit: %d bytes, %v, %d in the file", n, err, out.Offset())
	}
	if n, err := s.Write([]byte{1}); n != 0 || !errors.Is(err, context.Canceled) || out.Offset() != 0 {
		t.Errorf("cancelled at the limit: %d bytes, %v, %d in the file", n, err, out.Offset())
	}
	close(turn)
	s, out = newSpool(turn, t.Context())
	for i, c := range []struct{ size, file int }{{spoolLen - 1, 0}, {3, spoolLen + 2}, {5, spoolLen + 7}} {
		if n, err := s.Write(make([]byte, c.size)); n != c.size || err != nil || out.Offset() != uint64(c.file) {
			t.Errorf("write %d: %d of %d bytes, %v, %d in the file, want %d", i, n, c.size, err, out.Offset(), c.file)
		}
	}
}

// A list that is sorted anew must have rising DocIDs below the number of documents, and its
// frequencies' positions exactly.
func TestRenumbererRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		docIDs    []uint32
		freqs     []uint32
		positions []byte
		want      string
	}{
		"good":               {[]uint32{1, 3}, []uint32{1, 2}, []byte{1, 0x80, 2, 3}, ""},
		"DocID too high":     {[]uint32{1, 4}, []uint32{1, 1}, []byte{1, 2}, "DocID 4 of 4, want at least 2"},
		"DocID twice":        {[]uint32{1, 1}, []uint32{1, 1}, []byte{1, 2}, "DocID 1 of 4, want at least 2"},
		"positions missing":  {[]uint32{1, 3}, []uint32{1, 1}, []byte{1}, "positions end early"},
		"no positions":       {[]uint32{1, 3}, []uint32{1, 1}, nil, "positions end early"},
		"positions too many": {[]uint32{1, 3}, []uint32{1, 1}, []byte{1, 2, 3, 4, 5}, "3 bytes of positions too many"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &renumberer{newID: []uint32{3, 2, 1, 0}, positions: true}
			err := r.add(c.docIDs, c.freqs, c.positions)
			if err == nil {
				err = r.findPositions()
			}
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
