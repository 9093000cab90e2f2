package inverter

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/reorder"
	"github.com/griffin-search/griffin/internal/segment"
)

// Rarer terms hardly change reordering and enlarge the forward index (Mackenzie et al., ECIR
// 2019, §4.2, omit more).
const minReorderFreq = 16

// Forward returns a source's forward index of the default field, for reordering: 4 bytes per
// posting and 8 per document. If these and reordering exceed memoryBytes, the error has the
// missing amount.
func Forward(ctx context.Context, src segment.Source, memoryBytes int64, threads int) (*reorder.Forward, error) {
	numDocs := src.NumDocs()
	f := &reorder.Forward{Offsets: make([]uint64, numDocs+1)}
	if err := eachReorderList(ctx, src, func(b *segment.PostingBlock) {
		for _, doc := range b.DocIDs[:b.N] {
			f.Offsets[doc]++
		}
	}, func() { f.NumTerms++ }); err != nil {
		return nil, err
	}
	total := uint64(0)
	for i, n := range f.Offsets {
		f.Offsets[i] = total
		total += n
	}
	need := int64(total)*4 + int64(numDocs)*8 + reorder.MemoryBytes(numDocs, f.NumTerms, threads)
	if need > memoryBytes {
		return nil, fmt.Errorf("reordering %d documents with %d postings needs %d MiB of memory, %d MiB more than the limit: raise the limit or index without reordering: %w",
			numDocs, total, need>>20, (need-memoryBytes)>>20+1, base.ErrBadInput)
	}
	f.Terms = make([]uint32, total)
	term := uint32(0)
	// Offsets[d] moves from document d's start to its end.
	if err := eachReorderList(ctx, src, func(b *segment.PostingBlock) {
		for _, doc := range b.DocIDs[:b.N] {
			f.Terms[f.Offsets[doc]] = term
			f.Offsets[doc]++
		}
	}, func() { term++ }); err != nil {
		return nil, err
	}
	copy(f.Offsets[1:], f.Offsets[:numDocs])
	f.Offsets[0] = 0
	return f, nil
}

// block is called for each block of lists that take part, end after each list.
func eachReorderList(ctx context.Context, src segment.Source, block func(*segment.PostingBlock), end func()) error {
	lists, err := src.Lists()
	if err != nil {
		return err
	}
	defer lists.Close()
	var b segment.PostingBlock
	for lists.Next() && lists.Field() == 0 {
		if n := lists.DocFreq(); n < minReorderFreq || n == src.NumDocs() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for {
			if err := lists.ReadBlock(&b); err != nil {
				return err
			}
			if b.N == 0 {
				break
			}
			block(&b)
		}
		end()
	}
	return lists.Err()
}
