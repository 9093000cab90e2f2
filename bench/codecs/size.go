package main

import (
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings"
)

// size is how many bits a posting takes in the lists of an index, on average.
type size struct {
	Codec string  `json:"codec"`
	Docs  float64 `json:"docid_bits"`
	Freqs float64 `json:"freq_bits"`
}

// sizes encodes each every-th list with all codecs.
func (l *lists) sizes(codecs []codec.Codec, every int) ([]size, error) {
	out := make([]size, len(codecs))
	postingsOf, seen := 0, 0
	var part list
	var buf []byte
	err := l.each(func(p *postings.List) error {
		if seen++; (seen-1)%every != 0 {
			return nil
		}
		part.docIDs, part.freqs = part.docIDs[:0], part.freqs[:0]
		if err := part.decode(p, 0, p.NumBlocks()); err != nil {
			return err
		}
		postingsOf += len(part.docIDs)
		for i, c := range codecs {
			docs, freqs := 0, 0
			if lc, ok := c.(codec.ListCodec); ok && len(part.docIDs) > codec.BlockLen {
				buf = lc.AppendList(buf[:0], part.docIDs)
				docs = len(buf)
			} else {
				base := codec.NoBase
				for ids := range slices.Chunk(part.docIDs, codec.BlockLen) {
					buf, _ = c.AppendDocIDs(buf[:0], base, ids)
					docs += len(buf)
					base = ids[len(ids)-1]
				}
			}
			for f := range slices.Chunk(part.freqs, codec.BlockLen) {
				buf, _ = c.AppendFreqs(buf[:0], f)
				freqs += len(buf)
			}
			out[i].Docs += 8 * float64(docs)
			out[i].Freqs += 8 * float64(freqs)
		}
		return nil
	})
	for i, c := range codecs {
		out[i].Codec = c.Name()
		out[i].Docs /= float64(postingsOf)
		out[i].Freqs /= float64(postingsOf)
	}
	return out, err
}
