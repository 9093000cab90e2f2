package residency

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// source decodes the postings of a list in a shard on the CPU, in rising order of DocIDs, and
// reuses its memory.
type source struct {
	list     *postings.List // nil: impact-ordered
	from, to uint32         // DocIDs of the shard
	block    int
	first    int // index in the list of the next posting
	count    int // postings in the shard; next subtracts the decoded ones of a compressed list

	docIDs, freqs [codec.BlockLen]uint32

	// Postings of an impact-ordered list in the shard. Sparse list: DocID<<8 | impact,
	// sorted. Dense list: the impact of each document, 0 for none.
	sorted  []uint64
	byDoc   []uint8
	isDense bool
	at      int // next index of sorted or byDoc

	buffer   []base.DocID
	segments []impact.Segment
}

// open starts a leg's postings and sets count. Errors wrap base.ErrCorrupt.
func (s *source) open(p *Shard, leg *Leg) error {
	s.list, s.from, s.to = leg.List, p.from, p.to
	s.block, s.first, s.count = 0, 0, int(leg.DocFreq())
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

func imageShape(p *Shard, leg *Leg, count int) imagesearch.Shape {
	shape := imagesearch.Shape{
		NumDocs: int(p.to - p.from), DocFreq: count, Saturation: p.sat[leg.Field], Compact: p.memory.compact,
	}
	if leg.List != nil {
		// These are the segment's values: upper bounds for the shard.
		shape.CollFreq, shape.Max = leg.List.CollFreq, leg.List.Max
	} else {
		shape.CollFreq, shape.Max = uint64(leg.DocFreq())*255, score.Bound(leg.Impacts.Max)
	}
	return shape
}

// next decodes postings until the buffers are full or the list ends; 0: the end. DocIDs are
// relative to the shard's first. A compressed list needs room for a whole block.
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

// denseImpacts: a list with a posting in at least 1/denseImpacts of the documents is sorted
// through an array of one byte per document, which at this density costs about the same per
// posting as sorting.
const denseImpacts = 32

func (s *source) openImpacts(p *Shard, l *impact.List) error {
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
	return checkDistinct(s.sorted)
}

// No document may occur twice in source.sorted.
func checkDistinct(sorted []uint64) error {
	for i := 1; i < len(sorted); i++ {
		if sorted[i]>>8 == sorted[i-1]>>8 {
			return errTwice(uint32(sorted[i] >> 8))
		}
	}
	return nil
}

func errTwice(doc uint32) error {
	return fmt.Errorf("document %d twice in an impact-ordered list: %w", doc, base.ErrCorrupt)
}

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

func roundBlocks(n int) int { return (n + codec.BlockLen - 1) / codec.BlockLen * codec.BlockLen }

// checkDirectory checks that blocks rise and lie in the payload, so that a kernel stays in
// bounds. Checksums were verified before.
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

// directoryWords writes the index file's format.
func directoryWords(words []uint32, directory []postings.BlockEntry) {
	for i := range directory {
		e := &directory[i]
		w := words[i*decode.EntryWords:][:decode.EntryWords]
		w[0], w[1], w[2] = e.First, e.Last, e.Offset
		w[3] = uint32(e.Bound) | uint32(e.DocWidth)<<16 | uint32(e.FreqWidth)<<24
	}
}

func (u *Uploader) copyDirectory(dst cuda.Buffer[uint32], directory []postings.BlockEntry) error {
	for at := 0; at < len(directory); {
		p, err := u.chunk((len(directory) - at) * decode.EntryWords)
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
