package pipeline

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// source decodes the postings of a list in a part, in rising order of DocIDs, on
// the CPU. It keeps its memory from list to list.
type source struct {
	list     *postings.List // nil: impacts
	from, to uint32         // DocIDs of the part
	block    int
	first    int // posting of the list that the part begins with
	count    int // postings in the part

	docIDs, freqs [codec.BlockLen]uint32

	// Of an impact-ordered list, those of the part: DocID<<8 | impact, sorted, if it is
	// sparse; else the impact of each document, 0 if it has none.
	sorted  []uint64
	byDoc   []uint8
	isDense bool
	at      int // of sorted or byDoc, to be taken next

	buffer   []base.DocID
	segments []impact.Segment
}

// open makes the source that of a leg, and finds out how many postings it has in
// the part. Errors wrap base.ErrCorrupt.
func (s *source) open(p *part, leg *Leg) error {
	s.list, s.from, s.to = leg.List, p.from, p.to
	s.block, s.first, s.count = 0, 0, int(leg.DocFreq)
	if leg.List == nil {
		return s.openImpacts(p, leg.Impacts)
	}
	if p.whole {
		return nil
	}
	first, err := s.rank(p.from)
	if err != nil {
		return err
	}
	end, err := s.rank(p.to)
	if err != nil {
		return err
	}
	s.first, s.count, s.block = first, end-first, first/codec.BlockLen
	return nil
}

// rank returns the number of postings before a DocID.
func (s *source) rank(doc uint32) (int, error) {
	_, directory := s.list.Raw()
	i, _ := slices.BinarySearchFunc(directory, doc, func(e postings.BlockEntry, doc uint32) int {
		if e.Last < doc {
			return -1
		}
		return 1
	})
	if i == len(directory) {
		return int(s.list.DocFreq), nil
	}
	if _, err := s.list.DecodeDocIDs(i, &s.docIDs); err != nil {
		return 0, err
	}
	j, _ := slices.BinarySearch(s.docIDs[:s.list.BlockSize(i)], doc)
	return i*codec.BlockLen + j, nil
}

// imageShape returns the shape of the image of a list with so many postings in a part.
func imageShape(p *part, leg *Leg, count int) fastpath.Shape {
	shape := fastpath.Shape{
		NumDocs: int(p.to - p.from), DocFreq: count, Saturation: p.sat[leg.Field],
	}
	if leg.List != nil {
		// Of a part: more than its own, which is as good a bound.
		shape.CollFreq, shape.Max = leg.List.CollFreq, leg.List.Max
	} else {
		shape.CollFreq, shape.Max = uint64(leg.DocFreq)*255, score.Bound(leg.Impacts.Max)
	}
	return shape
}

// next decodes further postings, DocIDs counted from the part's first, as many as
// there are or as fit; 0: there are no more.
func (s *source) next(docIDs, freqs []uint32) (n int, err error) {
	if s.list == nil {
		return s.nextImpacts(docIDs, freqs), nil
	}
	for s.count > 0 && len(docIDs)-n >= codec.BlockLen {
		size, err := s.list.DecodeDocIDs(s.block, &s.docIDs)
		if err != nil {
			return 0, err
		}
		if err := s.list.DecodeFreqs(s.block, size, &s.freqs); err != nil {
			return 0, err
		}
		from := s.first - s.block*codec.BlockLen
		to := min(s.list.BlockSize(s.block), from+s.count)
		for i := from; i < to; i++ {
			docIDs[n], freqs[n] = s.docIDs[i]-s.from, s.freqs[i]
			n++
		}
		s.count -= to - from
		s.first += to - from
		s.block++
	}
	return n, nil
}

// denseImpacts: lists with at least a document in so many are put in order by an array
// with a byte for each document, in about the time that sorting takes per posting of a
// list that is as dense.
const denseImpacts = 32

// openImpacts puts the postings of an impact-ordered list in the order of DocIDs.
func (s *source) openImpacts(p *part, l *impact.List) error {
	var err error
	if s.segments, err = l.AppendSegments(s.segments[:0]); err != nil {
		return err
	}
	s.at, s.count, s.sorted = 0, 0, s.sorted[:0]
	numDocs := int(p.to - p.from)
	if s.isDense = int(l.DocFreq) >= numDocs/denseImpacts; s.isDense {
		s.byDoc = slices.Grow(s.byDoc[:0], numDocs)[:numDocs]
		clear(s.byDoc)
	}
	for i := range s.segments {
		seg := &s.segments[i]
		if s.buffer, err = l.Index().AppendDocIDs(s.buffer[:0], seg); err != nil {
			return err
		}
		for _, d := range s.buffer {
			if uint32(d) < p.from || uint32(d) >= p.to {
				continue
			}
			s.count++
			if !s.isDense {
				s.sorted = append(s.sorted, uint64(d)<<8|uint64(seg.Impact))
				continue
			}
			if s.byDoc[uint32(d)-p.from] != 0 {
				return errTwice(uint32(d))
			}
			s.byDoc[uint32(d)-p.from] = seg.Impact
		}
	}
	slices.Sort(s.sorted)
	for i := 1; i < len(s.sorted); i++ {
		if s.sorted[i]>>8 == s.sorted[i-1]>>8 {
			return errTwice(uint32(s.sorted[i] >> 8))
		}
	}
	return nil
}

func errTwice(doc uint32) error {
	return fmt.Errorf("document %d twice in an impact-ordered list: %w", doc, base.ErrCorrupt)
}

// nextImpacts is next for impact-ordered lists.
func (s *source) nextImpacts(docIDs, freqs []uint32) (n int) {
	room := min(len(docIDs), len(freqs))
	if !s.isDense {
		for ; n < room && s.at < len(s.sorted); n++ {
			v := s.sorted[s.at]
			docIDs[n], freqs[n] = uint32(v>>8)-s.from, uint32(v&0xff)
			s.at++
		}
		return n
	}
	for ; n < room && s.at < len(s.byDoc); s.at++ {
		if impact := s.byDoc[s.at]; impact != 0 {
			docIDs[n], freqs[n] = uint32(s.at), uint32(impact)
			n++
		}
	}
	return n
}

// roundBlocks returns n rounded up to whole blocks.
func roundBlocks(n int) int { return (n + codec.BlockLen - 1) / codec.BlockLen * codec.BlockLen }

// checkDirectory makes sure that a directory does not lead a kernel astray: blocks
// rise and lie in the payload. (Bytes were compared with their checksums, so that
// it is as it was written.)
func checkDirectory(payloadBytes int, directory []postings.BlockEntry) error {
	for i := range directory {
		e := &directory[i]
		if e.First > e.Last || int64(e.Offset) > int64(payloadBytes) ||
			i > 0 && (e.First <= directory[i-1].Last || e.Offset < directory[i-1].Offset) {
			return fmt.Errorf("directory entry %d of %d, %+v: %w", i, len(directory), *e, base.ErrCorrupt)
		}
	}
	return nil
}

// directoryWords writes a directory to words as it lies in the index's file.
func directoryWords(words []uint32, directory []postings.BlockEntry) {
	for i := range directory {
		e := &directory[i]
		w := words[i*decode.EntryWords:][:decode.EntryWords]
		w[0], w[1], w[2] = e.First, e.Last, e.Offset
		w[3] = uint32(e.Bound) | uint32(e.DocWidth)<<16 | uint32(e.FreqWidth)<<24
	}
}

// copyDirectory copies a directory to dst as it lies in the index's file.
func (u *uploader) copyDirectory(dst cuda.Buffer[uint32], directory []postings.BlockEntry) error {
	for at := 0; at < len(directory); {
		p, err := u.piece((len(directory) - at) * decode.EntryWords)
		if err != nil {
			return err
		}
		words := p.data()
		n := len(words) / decode.EntryWords
		directoryWords(words, directory[at:at+n])
		if err := u.send(&p, dst.Slice(at*decode.EntryWords, (at+n)*decode.EntryWords), n*decode.EntryWords); err != nil {
			return err
		}
		at += n
	}
	return nil
}
