package collection

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/index"
)

// A model's vocabulary has a language's frequent words, and pieces that compose the others.
// Which pieces a word gets does not matter here, so it is random: rarer words become maxPieces.
const (
	// Of the vocabulary (assumed).
	pieceShare = 1. / 8
	maxPieces  = 2
)

func readWords(ctx context.Context, source *index.Snapshot) (words []string, docFreqs []uint32, err error) {
	counts := map[string]uint32{}
	for i := range source.Segments {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		terms := source.Segments[i].Terms(0, nil)
		for terms.Next() {
			m, err := terms.Meta()
			if err != nil {
				return nil, nil, err
			}
			counts[string(terms.Term())] += m.DocFreq
		}
		if err := terms.Err(); err != nil {
			return nil, nil, err
		}
	}
	words = make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	slices.Sort(words)
	docFreqs = make([]uint32, len(words))
	for i, w := range words {
		docFreqs[i] = counts[w]
	}
	return words, docFreqs, nil
}

// newPieces makes at most size terms of all words: the most frequent unchanged and, if there
// are more, pieces.
func newPieces(words []string, docFreqs []uint32, size int, seed uint64) *vocabulary {
	numWhole, numPieces := len(words), 0
	if len(words) > size {
		numPieces = max(1, int(pieceShare*float64(size)))
		numWhole = size - numPieces
	}
	byFreq := make([]int, len(words))
	for i := range byFreq {
		byFreq[i] = i
	}
	slices.SortFunc(byFreq, func(a, b int) int { return cmp.Or(cmp.Compare(docFreqs[b], docFreqs[a]), a-b) })
	// Never a word of the source: analyzers remove #.
	v := &vocabulary{terms: make([]string, 0, numWhole+numPieces), words: make([]word, len(words))}
	for i := range numPieces {
		v.terms = append(v.terms, fmt.Sprintf("##%04x", i))
	}
	for _, i := range byFreq[:numWhole] {
		v.terms = append(v.terms, words[i])
	}
	slices.Sort(v.terms)
	number := make(map[string]uint32, len(v.terms))
	for i, t := range v.terms {
		number[t] = uint32(i)
	}
	for i, text := range words {
		v.words[i].text = text
		if t, ok := number[text]; ok {
			v.words[i].terms = []uint32{t}
			continue
		}
		rng := newStream(seed, streamPieces, uint64(i))
		for range maxPieces {
			// Frequencies differ, like words' (assumed).
			u := rng.float()
			t := number[fmt.Sprintf("##%04x", int(u*u*float64(numPieces)))]
			if !slices.Contains(v.words[i].terms, t) {
				v.words[i].terms = append(v.words[i].terms, t)
			}
		}
	}
	return v
}
