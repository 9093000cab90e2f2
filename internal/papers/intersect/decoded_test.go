package intersect

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
)

// encoded returns list compressed in blocks of codec.BlockLen, which package
// decode decodes.
func (r *rig) encoded(k *decode.Kernels, c codec.Codec, list []uint32) *Blocks {
	r.Helper()
	b, _ := r.encodedWhole(k, c, list)
	return b
}

// encodedWhole also returns a function that decodes all blocks.
func (r *rig) encodedWhole(k *decode.Kernels, c codec.Codec, list []uint32) (b *Blocks, whole func(dst cuda.Buffer[uint32]) error) {
	r.Helper()
	var payload []byte
	var directory []uint32
	base := codec.NoBase
	for from := 0; from < len(list); from += codec.BlockLen {
		block := list[from:min(from+codec.BlockLen, len(list))]
		at, width := uint32(len(payload)), uint8(0)
		payload, width = c.AppendDocIDs(payload, base, block)
		base = block[len(block)-1]
		directory = append(directory, block[0], base, at, uint32(width)<<16)
	}
	payload = append(payload, make([]byte, -len(payload)&3)...)
	words := make([]uint32, len(payload)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(payload[4*i:])
	}
	source := decode.Source{Payload: r.upload(words, 0), Directory: r.upload(directory, 0), NumPostings: len(list)}
	kernel, ok := decode.CodecOf(c)
	if !ok {
		r.Fatalf("no kernel decodes %T", c)
	}
	whole = func(dst cuda.Buffer[uint32]) error {
		l, err := decode.NewList(source, cuda.Buffer[uint32]{}, dst)
		if err != nil {
			return err
		}
		return k.DecodeList(r.Stream, kernel, decode.DocIDs, l)
	}
	return &Blocks{
		Firsts: source.Directory, Stride: decode.EntryWords, Len: len(list), BlockShift: 7,
		Decode: func(s *cuda.Stream, sel Selection, dst cuda.Buffer[uint32]) error {
			room := min(sel.Numbers.Len(), source.NumBlocks())
			l, err := decode.NewList(source, sel.Numbers.Slice(0, room), dst)
			if err != nil {
				return err
			}
			return k.DecodeList(s, kernel, decode.DocIDs, l.Counted(sel.Count))
		},
	}, whole
}

// Package decode decodes the selected blocks, without the host in between.
func TestDecodedBlocks(t *testing.T) {
	r := newRig(t)
	k := decode.New(r.Device)
	t.Cleanup(func() { r.Must(k.Close()) })
	rng := rand.New(rand.NewPCG(2, 18))
	const numDocs = 60_000
	short, middle, long := randomList(rng, 90, numDocs), randomList(rng, 3000, numDocs), randomList(rng, 20_000, numDocs)
	c, err := NewChain(r.Device, 3, len(middle), len(long), 7)
	r.Must(err)
	defer c.Free()
	for _, name := range []string{"simdbp", "ef"} {
		coder, err := codec.Lookup(name)
		r.Must(err)
		for _, lists := range [][][]uint32{{short, long}, {middle, long}, {short, middle, long}} {
			operands := []Operand{{List: List{DocIDs: r.upload(lists[0], 0)}}}
			for _, list := range lists[1:] {
				operands = append(operands, Operand{Blocks: r.encoded(k, coder, list)})
			}
			out, err := NewCandidates(r.Device, len(lists), len(lists[0]))
			r.Must(err)
			r.Must(r.x.All(r.Stream, c, operands, out))
			if got, want := r.candidates(out, len(lists)), mergeLists(lists...); !got.equal(want) {
				t.Errorf("%s, %d lists, the first of %d: %s", name, len(lists), len(lists[0]), difference(got, want))
			}
			out.Free()
		}
	}
}
