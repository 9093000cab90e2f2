package plan

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// The key of an answer holds everything except the snapshot that it depends on: the mode, k,
// whether matches are counted, the BM25 parameters, and the planned tree of each stage. The
// tree is in index terms, so letter case, word forms, stop words and notations of the same
// group do not matter. Members of a group, but not terms of a phrase, are sorted: sums of
// fixed-point scores are the same in any order. Boosts are compared bit by bit.
//
//	leaf      'L' field u32, boost u64, slop u32, place of the alternatives u32, key of the blend,
//	          number of terms u32, (offset u32, term) each
//	group     'G' atLeast u32, number of required, optional, excluded u32 each, then the members, sorted
//	constant  'C' score u64, child
//	set       'S' key
//	disMax    'D' tie u64, number of children u32, then the children, sorted
//	boosting  'B' factor u64, positive, negative
//	combined  'F' boost u64, number of fields u32, (weight u64, leaf) each
//	functions 'X' key, child, number of filters u32, then the filters
//	none      'N'
//
// Terms and keys are length u32, bytes.

type keyBuilder struct {
	sorted []byte   // members of a group in sorted order
	spans  [][2]int // of the members of the groups in progress
	terms  []int    // of appendCanonicalTerms
}

// AppendKey appends the key of a compiled plan. Plans for one snapshot with equal keys have
// equal answers, unless the options set a budget, a traversal or accumulators.
func (p *Plan) AppendKey(dst []byte, sc *Scratch) []byte {
	b := &sc.keys
	counts := byte(0)
	if p.counts {
		counts = 1
	}
	dst = append(dst, byte(p.mode), counts)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.k))
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(p.planner.bm25.K1))
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(p.planner.bm25.B))
	for i := range p.stages {
		dst = append(dst, byte(p.stages[i].mode))
		dst = b.appendNode(dst, p.words.terms, p.stages[i].root)
	}
	return dst
}

// AppendDocFreqs appends the terms' document frequencies in an order that depends only on the
// key, for SetDocFreqs.
func (p *Plan) AppendDocFreqs(dst []uint64) []uint64 {
	for _, t := range appendCanonicalTerms(nil, p) {
		dst = append(dst, p.words.docFreqs[t])
	}
	return dst
}

// SetDocFreqs copies them to a compiled plan with the same key. It replaces Bind and is enough
// for Sought, but the plan cannot run.
func (p *Plan) SetDocFreqs(freqs []uint64, sc *Scratch) {
	p.words.docFreqs = append(p.words.docFreqs[:0], make([]uint64, len(p.words.terms))...)
	sc.keys.terms = appendCanonicalTerms(sc.keys.terms[:0], p)
	for i, t := range sc.keys.terms {
		p.words.docFreqs[t] = freqs[i]
	}
}

func (b *keyBuilder) appendNode(dst []byte, terms []term, n node) []byte {
	switch n := n.(type) {
	case *leaf:
		dst = append(dst, 'L')
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n.field))
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(n.boost))
		dst = binary.LittleEndian.AppendUint32(dst, n.slop)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n.expand))
		dst = appendText(dst, n.blendKey())
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(n.terms)))
		for i, t := range n.terms {
			offset := uint32(0)
			if n.offsets != nil {
				offset = n.offsets[i]
			}
			dst = binary.LittleEndian.AppendUint32(dst, offset)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(terms[t].bytes)))
			dst = append(dst, terms[t].bytes...)
		}
		return dst
	case *group:
		dst = binary.LittleEndian.AppendUint32(append(dst, 'G'), uint32(n.atLeast))
		for _, members := range [...][]node{n.required, n.optional, n.excluded} {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(members)))
		}
		for _, members := range [...][]node{n.required, n.optional, n.excluded} {
			dst = b.appendSorted(dst, terms, members)
		}
		return dst
	case *constant:
		return b.appendNode(binary.LittleEndian.AppendUint64(append(dst, 'C'), uint64(n.score)), terms, n.child)
	case *set:
		return appendText(append(dst, 'S'), n.key)
	case *disMax:
		dst = binary.LittleEndian.AppendUint64(append(dst, 'D'), math.Float64bits(n.tie))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(n.children)))
		return b.appendSorted(dst, terms, n.children)
	case *boosting:
		dst = binary.LittleEndian.AppendUint64(append(dst, 'B'), math.Float64bits(n.factor))
		return b.appendNode(b.appendNode(dst, terms, n.positive), terms, n.negative)
	}
	if n, ok := n.(*functionScore); ok {
		dst = b.appendNode(appendText(append(dst, 'X'), n.key), terms, n.child)
		filters := n.filters()
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(filters)))
		for _, filter := range filters {
			dst = b.appendNode(dst, terms, filter)
		}
		return dst
	}
	if n, ok := n.(*combined); ok {
		dst = binary.LittleEndian.AppendUint64(append(dst, 'F'), math.Float64bits(n.boost))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(n.leaves)))
		for i, l := range n.leaves {
			dst = b.appendNode(binary.LittleEndian.AppendUint64(dst, math.Float64bits(n.weights[i])), terms, l)
		}
		return dst
	}
	return append(dst, 'N')
}

func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

func (b *keyBuilder) appendSorted(dst []byte, terms []term, nodes []node) []byte {
	first, begin := len(b.spans), len(dst)
	for _, n := range nodes {
		start := len(dst)
		dst = b.appendNode(dst, terms, n)
		b.spans = append(b.spans, [2]int{start, len(dst)})
	}
	spans := b.spans[first:]
	if len(spans) <= 16 {
		base.SortFew(spans, func(x, y [2]int) int { return bytes.Compare(dst[x[0]:x[1]], dst[y[0]:y[1]]) })
	} else {
		sortSpans(dst, spans)
	}
	b.sorted = b.sorted[:0]
	for _, s := range spans {
		b.sorted = append(b.sorted, dst[s[0]:s[1]]...)
	}
	copy(dst[begin:], b.sorted)
	b.spans = b.spans[:first]
	return dst
}

// sortSpans takes memory, for which its arguments escape.
func sortSpans(text []byte, spans [][2]int) {
	base.Sort(spans, func(x, y [2]int) int { return bytes.Compare(text[x[0]:x[1]], text[y[0]:y[1]]) })
}

// appendCanonicalTerms appends the terms' indexes in an order that depends only on the key.
func appendCanonicalTerms(dst []int, p *Plan) []int {
	for i := range p.stages {
		walkLeaves(p.stages[i].root, false, func(l *leaf, _ bool) {
			dst = append(dst, l.terms...)
		})
	}
	slices.SortFunc(dst, func(x, y int) int {
		return cmp.Or(cmp.Compare(p.words.terms[x].field, p.words.terms[y].field), bytes.Compare(p.words.terms[x].bytes, p.words.terms[y].bytes))
	})
	return slices.Compact(dst)
}
