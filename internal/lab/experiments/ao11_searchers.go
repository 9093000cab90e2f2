package experiments

import (
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/contraction"
)

// The methods of ao11-table3 for finding a DocID in a list.

// searcher finds DocIDs in a list, in ascending order between calls of reset.
type searcher interface {
	reset()
	has(x uint32) bool
}

// A column of the table.
type ao11Way struct {
	name string
	// The codec of the lists; "": uncompressed.
	spec string
	open func(l *ao11List, c codec.Codec) (searcher, error)
}

type ao11List struct {
	docIDs   []uint32
	universe int
}

// The method with which the others are compared.
const skipName = "skip list"

// The columns of the table, preceded by the reference.
var ao11Ways = []ao11Way{
	{skipName, "", func(l *ao11List, _ codec.Codec) (searcher, error) { return &skipSearcher{seq: l.docIDs}, nil }},
	{"IS", "", func(l *ao11List, _ codec.Codec) (searcher, error) { return interpolationSearcher(l.docIDs), nil }},
	{"BS", "", func(l *ao11List, _ codec.Codec) (searcher, error) { return binarySearcher(l.docIDs), nil }},
	{"LR", "", func(l *ao11List, _ codec.Codec) (searcher, error) {
		return &lineSearcher{l.docIDs, contraction.NewSafeRange(l.docIDs)}, nil
	}},
	{"HS32", "", newHashSearcher(32)},
	{"HS16", "", newHashSearcher(16)},
	{"ParaPFD (0.2)", "parapfor:exceptions=0.2", newBlockSearcher},
	{"ParaPFD (0.0)", "parapfor:exceptions=0", newBlockSearcher},
	{"LRC", "lrc", newRegressionSearcher},
	{"LRCSeg", "lrcseg", newRegressionSearcher},
	{"SegLRC", "seglrc", newRegressionSearcher},
	{"HS256_LRC", "hs-lrc", newRegressionSearcher},
	{"HS128_LRC", "hs-lrc:bucket=128", newRegressionSearcher},
}

// skipSearcher is a skip list in which each level has every eighth element of
// the level below. A search continues from the end of the previous one (Pugh,
// "Skip lists: a probabilistic alternative to balanced trees", CACM 33(6),
// 1990; here deterministic and without pointers).
type skipSearcher struct {
	seq []uint32
	at  int
}

const skipBits = 3

func (s *skipSearcher) reset() { s.at = 0 }

func (s *skipSearcher) has(x uint32) bool {
	at, level := s.at, 0
	// Up, while the next element of the level above is not beyond x.
	for next := at>>(skipBits*(level+1)) + 1; next<<(skipBits*(level+1)) < len(s.seq) && s.seq[next<<(skipBits*(level+1))] <= x; {
		level++
		at = next << (skipBits * level)
		next = at>>(skipBits*(level+1)) + 1
	}
	// Down.
	for ; level >= 0; level-- {
		for next := at + 1<<(skipBits*level); next < len(s.seq) && s.seq[next] <= x; next += 1 << (skipBits * level) {
			at = next
		}
	}
	s.at = at
	return s.seq[at] == x
}

type binarySearcher []uint32

func (binarySearcher) reset() {}

func (s binarySearcher) has(x uint32) bool {
	at := contraction.Binary(s, 0, len(s), x)
	return at < len(s) && s[at] == x
}

type interpolationSearcher []uint32

func (interpolationSearcher) reset() {}

func (s interpolationSearcher) has(x uint32) bool {
	at := contraction.Interpolate(s, x)
	return at < len(s) && s[at] == x
}

type lineSearcher struct {
	seq  []uint32
	safe contraction.SafeRange
}

func (*lineSearcher) reset() {}

func (s *lineSearcher) has(x uint32) bool {
	lo, hi := s.safe.Range(x)
	at := contraction.Binary(s.seq, lo, hi, x)
	return at < len(s.seq) && s.seq[at] == x
}

type hashSearcher struct {
	seq     []uint32
	buckets *contraction.Buckets
}

func newHashSearcher(size int) func(l *ao11List, _ codec.Codec) (searcher, error) {
	return func(l *ao11List, _ codec.Codec) (searcher, error) {
		return &hashSearcher{l.docIDs, contraction.NewBuckets(l.docIDs, uint64(l.universe), size)}, nil
	}
}

func (*hashSearcher) reset() {}

func (s *hashSearcher) has(x uint32) bool {
	lo, hi := s.buckets.Range(x)
	at := contraction.Binary(s.seq, lo, hi, x)
	return at < len(s.seq) && s.seq[at] == x
}

// blockSearcher finds the block by binary search over the first DocIDs, decodes
// it once, and searches it by binary search.
type blockSearcher struct {
	c      codec.Codec
	data   []byte
	first  []uint32
	last   []uint32
	offset []int
	width  []uint8
	n      int
	loaded int
	block  [codec.BlockLen]uint32
}

func newBlockSearcher(l *ao11List, c codec.Codec) (searcher, error) {
	s := &blockSearcher{c: c, n: len(l.docIDs), loaded: -1}
	base := codec.NoBase
	for at := 0; at < s.n; at += codec.BlockLen {
		docIDs := l.docIDs[at:min(at+codec.BlockLen, s.n)]
		s.first, s.last = append(s.first, docIDs[0]), append(s.last, docIDs[len(docIDs)-1])
		s.offset = append(s.offset, len(s.data))
		data, width := c.AppendDocIDs(s.data, base, docIDs)
		s.data, s.width = data, append(s.width, width)
		base = docIDs[len(docIDs)-1]
	}
	return s, nil
}

func (s *blockSearcher) reset() { s.loaded = -1 }

// load decodes block i; the codec created the bytes, so errors are impossible.
func (s *blockSearcher) load(i int) []uint32 {
	size := min(codec.BlockLen, s.n-i*codec.BlockLen)
	if s.loaded != i {
		base := codec.NoBase
		if i > 0 {
			base = s.last[i-1]
		}
		if _, err := s.c.DecodeDocIDs(&s.block, s.data[s.offset[i]:], base, size, s.width[i]); err != nil {
			panic(fmt.Sprintf("block %d of a list of %d: %v", i, s.n, err))
		}
		s.loaded = i
	}
	return s.block[:size]
}

func (s *blockSearcher) has(x uint32) bool {
	i := contraction.Binary(s.first, 0, len(s.first), x)
	if i == len(s.first) || s.first[i] != x {
		if i--; i < 0 || s.last[i] < x {
			return false
		}
	}
	block := s.load(i)
	at := contraction.Binary(block, 0, len(block), x)
	return at < len(block) && block[at] == x
}

func (s *blockSearcher) decode(dst []uint32) {
	s.loaded = -1
	for i := range s.first {
		copy(dst[i*codec.BlockLen:], s.load(i))
	}
}

// regressionSearcher searches without decoding (Algorithm 1).
type regressionSearcher struct {
	c    codec.Regression
	data []byte
	list codec.RegressionList
}

func newRegressionSearcher(l *ao11List, c codec.Codec) (searcher, error) {
	s := &regressionSearcher{c: c.(codec.Regression)}
	s.data = s.c.AppendList(nil, l.docIDs)
	return s, s.list.Reset(s.c, s.data, len(l.docIDs))
}

func (*regressionSearcher) reset() {}

func (s *regressionSearcher) has(x uint32) bool {
	_, d, err := s.list.Search(x)
	return d == x && err == nil
}

func (s *regressionSearcher) decode(dst []uint32) {
	if err := s.c.DecodeList(dst, s.data); err != nil {
		panic(fmt.Sprintf("list of %d: %v", len(dst), err))
	}
}
