package postingstest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/postings"
)

// Posting is uncompressed. Positions is nil or has Freq elements.
type Posting struct {
	DocID, Freq uint32
	Positions   []uint32
}

// Index holds lists that share files, like a segment's.
type Index struct {
	Options                        postings.Options
	Metas                          []postings.Meta
	Postings, Positions, Frontiers []byte
}

// Write encodes lists with AddBlock calls of step postings.
func Write(t testing.TB, opts postings.Options, lengths []uint32, step int, lists ...[]Posting) *Index {
	t.Helper()
	var p, pos, f bytes.Buffer
	w := postings.NewWriter(opts, &p, &pos, &f)
	ix := &Index{Options: opts}
	for _, list := range lists {
		w.Begin(lengths)
		for len(list) > 0 {
			n := min(step, len(list))
			docIDs, freqs, positions := Columns(list[:n])
			if err := w.AddBlock(docIDs, freqs, positions); err != nil {
				t.Fatal(err)
			}
			list = list[n:]
		}
		m, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		ix.Metas = append(ix.Metas, m)
	}
	ix.Postings, ix.Positions, ix.Frontiers = p.Bytes(), pos.Bytes(), f.Bytes()
	return ix
}

// Open opens list i.
func (ix *Index) Open(t testing.TB, i int) *postings.List {
	t.Helper()
	l := new(postings.List)
	if err := l.Open(ix.Metas[i], ix.Options.Codec, ix.Postings, ix.Positions, ix.Frontiers); err != nil {
		t.Fatal(err)
	}
	return l
}

// Columns returns the arguments of Writer.AddBlock.
func Columns(list []Posting) (docIDs, freqs []uint32, positions []byte) {
	for _, p := range list {
		docIDs = append(docIDs, p.DocID)
		freqs = append(freqs, p.Freq)
		prev := uint32(0)
		for _, x := range p.Positions {
			positions = binary.AppendUvarint(positions, uint64(x-prev))
			prev = x
		}
	}
	return docIDs, freqs, positions
}

// Shape is a distribution of DocIDs.
type Shape int

// Shapes of random lists.
const (
	Uniform   Shape = iota // each document with the same probability
	Clustered              // runs of neighbours with wide gaps between them
	Dense                  // nearly every document of a range
)

// RandomList returns min(n, numDocs) postings, mostly with small frequencies.
func RandomList(rng *rand.Rand, shape Shape, n, numDocs int, positions bool) []Posting {
	n = min(n, numDocs)
	list := make([]Posting, 0, n)
	at := 0
	for len(list) < n && at < numDocs {
		room := (numDocs - at) - (n - len(list)) // number of documents to skip at most
		gap := 0
		switch shape {
		case Uniform:
			gap = rng.IntN(2*room/(n-len(list)) + 1)
		case Clustered:
			if rng.IntN(20) == 0 {
				gap = rng.IntN(room/2 + 1)
			}
		case Dense:
			if rng.IntN(16) == 0 {
				gap = rng.IntN(3)
			}
		}
		at += min(gap, room)
		freq := uint32(1)
		for freq < 500 && rng.IntN(3) == 0 {
			freq *= 1 + rng.Uint32N(3)
		}
		p := Posting{DocID: uint32(at), Freq: freq}
		if positions {
			x := rng.Uint32N(1000)
			for range freq {
				p.Positions = append(p.Positions, x)
				x += 1 + rng.Uint32N(300)
			}
		}
		list = append(list, p)
		at++
	}
	return list
}
