package scoring_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/score"
)

type bench struct {
	*gputest.Session
	kernels *scoring.Kernels
}

func newBench(t testing.TB) *bench {
	t.Helper()
	s := gputest.NewSession(t)
	kernels, err := scoring.New(s.Device)
	s.Must(err)
	t.Cleanup(func() { s.Must(kernels.Close()) })
	return &bench{Session: s, kernels: kernels}
}

type postings struct {
	term          score.Term
	docIDs, freqs []uint32
}

// Contributions stay below 2^32; linear terms have frequencies below 2^14.
func randomTerm(rng *rand.Rand) score.Term {
	if rng.IntN(3) == 0 {
		return score.NewLinearTerm(rng.Float64()*3, []float64{1, 100, 7.5}[rng.IntN(3)])
	}
	p := score.BM25{K1: rng.Float32() * 3, B: rng.Float32()}
	switch rng.IntN(6) {
	case 0:
		p.K1 = 0
	case 1:
		p.B = 0
	case 2:
		p.B = 1
	}
	return p.NewTerm(rng.Float64()*22.2, math.Exp(rng.Float64()*6), math.Exp(rng.Float64()*8))
}

func randomFreq(rng *rand.Rand, bits int) uint32 {
	return max(1, rng.Uint32()>>(32-bits)>>rng.IntN(bits))
}

func randomList(rng *rand.Rand, n, numDocs int) postings {
	l := postings{term: randomTerm(rng)}
	bits := 1 + rng.IntN(14)
	for d := range numDocs {
		if rng.IntN(numDocs) < n {
			l.docIDs = append(l.docIDs, uint32(d))
			l.freqs = append(l.freqs, randomFreq(rng, bits))
		}
	}
	if len(l.docIDs) == 0 {
		l.docIDs, l.freqs = []uint32{uint32(rng.IntN(numDocs))}, []uint32{1}
	}
	return l
}

// pack encodes a list in the format of the index: blocks, and a directory of 4
// words each. A list without DocIDs is encoded as one sequence, before its
// blocks.
func (l *postings) pack() (payload, directory []uint32) {
	var bytes []byte
	if len(l.docIDs) == 0 {
		bytes = append(bytes, 0xAA, 0xBB, 0xCC)
	}
	last := codec.NoBase
	for from := 0; from < len(l.freqs); from += codec.BlockLen {
		to := min(from+codec.BlockLen, len(l.freqs))
		offset := len(bytes)
		var first uint32
		var docWidth, freqWidth uint8
		if len(l.docIDs) > 0 {
			bytes, docWidth = codec.SIMDBP{}.AppendDocIDs(bytes, last, l.docIDs[from:to])
			first, last = l.docIDs[from], l.docIDs[to-1]
		}
		bytes, freqWidth = codec.SIMDBP{}.AppendFreqs(bytes, l.freqs[from:to])
		directory = append(directory, first, last, uint32(offset), 0xABCD|uint32(docWidth)<<16|uint32(freqWidth)<<24)
	}
	for len(bytes)%4 != 0 {
		bytes = append(bytes, 0xFF)
	}
	for i := 0; i < len(bytes); i += 4 {
		payload = append(payload, binary.LittleEndian.Uint32(bytes[i:]))
	}
	if len(payload) == 0 { // all widths are 0
		payload = []uint32{0xFFFFFFFF}
	}
	return payload, directory
}

func (l *postings) source(b *bench, packed bool, lengths cuda.Buffer[uint32]) scoring.Source {
	b.Helper()
	s := scoring.Source{Term: l.term, DocIDs: gputest.Upload(b.Session, l.docIDs), Lengths: lengths}
	var err error
	if packed {
		payload, directory := l.pack()
		s.Freqs, err = scoring.PackedFreqs(gputest.Upload(b.Session, payload), gputest.Upload(b.Session, directory), len(l.docIDs))
	} else {
		s.Freqs, err = scoring.PlainFreqs(gputest.Upload(b.Session, l.freqs))
	}
	b.Must(err)
	return s
}

func (b *bench) list(s scoring.Source) scoring.List {
	b.Helper()
	l, err := scoring.NewList(s)
	b.Must(err)
	return l
}

func randomLengths(rng *rand.Rand, n int) []uint32 {
	lengths := make([]uint32, n)
	for i := range lengths {
		lengths[i] = rng.Uint32() >> (8 + rng.IntN(24))
	}
	return lengths
}

// For postings and parameters of any magnitude.
func TestContributions(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 4096
	terms := []score.Term{
		score.DefaultBM25.NewTerm(score.IDF(1000, 10), 1, 100),
		{Weight: 22.2 * 1000 * 65536}, // the maximum: C0 and C1 are 0
		{Weight: 0.25, C0: 1e-30, C1: 1e-38},
		{Weight: 65535.5, C0: 0x1p-126, C1: 0x1p-149}, // subnormal numbers
		score.NewLinearTerm(1, 1),
	}
	for range 12 {
		terms = append(terms, randomTerm(rng))
	}
	for _, term := range terms {
		l := postings{term: term, docIDs: make([]uint32, n), freqs: make([]uint32, n)}
		lengths := make([]uint32, n)
		for i := range n {
			l.docIDs[i] = uint32(i)
			l.freqs[i] = randomFreq(rng, 32)
			lengths[i] = rng.Uint32() >> rng.IntN(32)
		}
		copy(l.freqs, []uint32{3, 1, 2, 1<<24 + 1})
		copy(lengths, []uint32{120, 0, math.MaxUint32, 1<<24 + 1})
		if term.Linear { // so that no contribution exceeds 2^32
			for i, f := range l.freqs {
				l.freqs[i] = min(f, uint32(1<<31/term.Weight)+1)
			}
		}
		list := b.list(l.source(b, false, gputest.Upload(b.Session, lengths)))
		out := gputest.Alloc[uint32](b.Session, n)
		b.Must(b.kernels.Contributions(b.Stream, &list, out))
		for i, got := range gputest.Download(b.Session, out) {
			if want := term.Score(l.freqs[i], lengths[i]); base.Score(got) != want {
				t.Fatalf("%+v: freq %d, length %d: %d, want %d", term, l.freqs[i], lengths[i], got, want)
			}
		}
	}
}

// Each width of packed frequencies, in full and short blocks.
func TestPackedFreqs(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(3, 4))
	unit := score.Term{Weight: 1, Linear: true}
	for bits := 1; bits <= 24; bits++ { // frequencies up to 2^24 are their own contributions
		n := 1 + rng.IntN(5*codec.BlockLen)
		l := postings{term: unit, docIDs: make([]uint32, n), freqs: make([]uint32, n)}
		for i := range n {
			l.docIDs[i] = uint32(i)*uint32(bits) + rng.Uint32N(uint32(bits))
			l.freqs[i] = 1 + rng.Uint32()>>(32-bits)/2
		}
		list := b.list(l.source(b, true, cuda.Buffer[uint32]{}))
		out := gputest.Alloc[uint32](b.Session, n)
		b.Must(b.kernels.Contributions(b.Stream, &list, out))
		if got := gputest.Download(b.Session, out); !slices.Equal(got, l.freqs) {
			t.Fatalf("%d bits, %d postings:\n got %v\nwant %v", bits, n, got, l.freqs)
		}
		// As of codecs of lists: no DocIDs in blocks.
		l.docIDs = l.docIDs[:0]
		payload, directory := l.pack()
		freqs, err := scoring.PackedFreqs(gputest.Upload(b.Session, payload), gputest.Upload(b.Session, directory), n)
		b.Must(err)
		list = b.list(scoring.Source{Term: unit, Freqs: freqs})
		b.Must(b.kernels.Contributions(b.Stream, &list, out))
		if got := gputest.Download(b.Session, out); !slices.Equal(got, l.freqs) {
			t.Fatalf("%d bits, %d postings without DocIDs:\n got %v\nwant %v", bits, n, got, l.freqs)
		}
	}
}

func TestShapesAreChecked(t *testing.T) {
	b := newBench(t)
	words := gputest.Alloc[uint32](b.Session, 8)
	if _, err := scoring.PackedFreqs(words, words, 128*2+1); err == nil {
		t.Error("a short directory is accepted")
	}
	if _, err := scoring.PlainFreqs(cuda.Buffer[uint32]{}); err == nil {
		t.Error("no frequencies are accepted")
	}
	freqs, err := scoring.PlainFreqs(words)
	b.Must(err)
	if _, err := scoring.NewList(scoring.Source{Freqs: freqs}); err == nil {
		t.Error("missing lengths are accepted")
	}
	if _, err := scoring.NewList(scoring.Source{Freqs: freqs, Lengths: words, DocIDs: words.Slice(0, 7)}); err == nil {
		t.Error("too few DocIDs are accepted")
	}
	l := b.list(scoring.Source{Freqs: freqs, Lengths: words})
	if err := b.kernels.Contributions(b.Stream, &l, words); err == nil {
		t.Error("missing DocIDs are accepted")
	}
	if err := scoring.Accumulate(b.kernels, b.Stream, &l, words, scoring.Unless{}); err == nil {
		t.Error("accumulating without DocIDs is accepted")
	}
	if err := scoring.Clear(b.kernels, b.Stream, words.Slice(0, 5), scoring.Unless{}); err == nil {
		t.Error("accumulators of 20 bytes are accepted")
	}
	c := scoring.Candidates{DocIDs: words}
	none := cuda.Buffer[uint32]{}
	if err := scoring.AddTerm(b.kernels, b.Stream, &l, c, none, words.Slice(0, 7), words); err == nil {
		t.Error("candidates without a previous sum are accepted")
	}
	if err := scoring.AddTerm(b.kernels, b.Stream, &l, c, none, none, words.Slice(0, 7)); err == nil {
		t.Error("too few sums are accepted")
	}
	short := b.list(scoring.Source{Freqs: freqs, Lengths: words, Postings: words.Slice(0, 7)})
	if err := scoring.AddTerm(b.kernels, b.Stream, &short, c, none, none, words); err == nil {
		t.Error("candidates without a posting are accepted")
	}
	few, err := scoring.PlainFreqs(words.Slice(0, 7))
	b.Must(err)
	fewer := b.list(scoring.Source{Freqs: few, Lengths: words})
	if err := scoring.AddTerm(b.kernels, b.Stream, &fewer, c, none, none, words); err == nil {
		t.Error("more candidates than postings are accepted")
	}
	if err := scoring.AddTerm(b.kernels, b.Stream, &l, c, words, words, words); err == nil {
		t.Error("in-place sums with a permutation are accepted")
	}
}
