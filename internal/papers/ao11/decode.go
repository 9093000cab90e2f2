package ao11

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/decoders"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// maxDecoded is the maximum number of elements of the lists of a batch with codes of d-gaps, unless it is one
// query: 256 MiB.
const maxDecoded = 1 << 26

// decodeSpace has the decoded lists of a batch: §5.3 searches lists of d-gaps only after a
// complete decompression.
type decodeSpace struct {
	arrays map[*lists.List]para.Array // of the batch
	docIDs cuda.Buffer[uint32]        // of all arrays
	table  cuda.Buffer[decode.List]

	distinct []int // of batch.lists
	offsets  []int // of their DocIDs
	sources  []decode.List
}

func (d *decodeSpace) free() error {
	return errors.Join(d.docIDs.Free(), d.table.Free())
}

// layout gives each list of the batch a place, and returns the number of words of all.
func (d *decodeSpace) layout(b *batch) (words int) {
	if d.arrays == nil {
		d.arrays = map[*lists.List]para.Array{}
	}
	clear(d.arrays)
	d.distinct, d.offsets = d.distinct[:0], d.offsets[:0]
	for i := range b.lists {
		if _, ok := d.arrays[b.lists[i].List]; ok {
			continue
		}
		d.arrays[b.lists[i].List] = para.Array{} // until there is memory
		d.distinct, d.offsets = append(d.distinct, i), append(d.offsets, words)
		words += codec.BlockLen * b.lists[i].NumBlocks()
	}
	return words
}

// decode enqueues decoding the lists of a batch and returns the bytes copied to the device. The error is the
// context's, the device's or a queryError.
func (g *gpu) decode(ctx context.Context, ws *workspace, b *batch) (copied int64, err error) {
	d := &ws.decode
	words := d.layout(b)
	if err := cuda.Grow(g.device, &d.docIDs, words, cuda.Alloc[uint32]); err != nil {
		return 0, err
	}
	d.sources = d.sources[:0]
	for i, at := range d.distinct {
		r, l := ws.held[at], b.lists[at].List
		docIDs := d.docIDs.Slice(d.offsets[i], d.offsets[i]+codec.BlockLen*l.NumBlocks())
		d.arrays[l] = para.Array{DocIDs: docIDs, NumPostings: l.NumPostings}
		source := decode.Source{Payload: r.payload, Directory: r.directory, NumPostings: l.NumPostings}
		list, err := decode.NewList(source, cuda.Buffer[uint32]{} /* all blocks */, docIDs)
		if err != nil {
			return 0, b.errorOf(b.itemWith(at), err)
		}
		d.sources = append(d.sources, list)
	}
	shape := decode.Plan(d.sources)
	if err := cuda.Grow(g.device, &d.table, len(d.sources), cuda.Alloc[decode.List]); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	table := d.table.Slice(0, len(d.sources))
	if err := cuda.CopyToDevice(ws.stream, table, d.sources); err != nil {
		return 0, err
	}
	decoder, _ := decoders.CodecOf(g.form.codec)
	return table.SizeBytes(), g.decoder.Decode(ws.stream, decoder, decode.DocIDs, table, shape)
}
