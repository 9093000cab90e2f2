package decoders

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

type rig struct {
	*gputest.Session
	kernels *decode.Kernels
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Session: gputest.NewSession(t)}
	r.kernels = decode.New(r.Device)
	t.Cleanup(func() { r.Must(r.kernels.Close()) })
	return r
}

// encoded is a list without frequencies, as in the postings file.
type encoded struct {
	payload, directory []uint32
	n                  int
}

func encode(c codec.Codec, docIDs []uint32) encoded {
	var payload []byte
	l := encoded{n: len(docIDs)}
	whole, ok := c.(codec.ListCodec)
	ok = ok && len(docIDs) > codec.BlockLen
	if ok {
		payload = whole.AppendList(nil, docIDs)
	}
	before := codec.NoBase
	for block := range slices.Chunk(docIDs, codec.BlockLen) {
		at, width, last := uint32(len(payload)), uint8(0), block[len(block)-1]
		if !ok {
			payload, width = c.AppendDocIDs(payload, before, block)
		}
		l.directory = append(l.directory, block[0], last, at, uint32(width)<<16)
		before = last
	}
	return encodedBytes(l, payload)
}

func encodedBytes(l encoded, payload []byte) encoded {
	payload = append(payload, make([]byte, 4-len(payload)%4)...)
	for i := 0; i < len(payload); i += 4 {
		l.payload = append(l.payload, binary.LittleEndian.Uint32(payload[i:]))
	}
	return l
}

// decode decodes all blocks, or the selected ones.
func (r *rig) decode(c decode.Codec, l encoded, selected []uint32) []uint32 {
	r.Helper()
	blocks := len(l.directory) / decode.EntryWords
	s := decode.Source{Payload: gputest.Upload(r.Session, l.payload), Directory: gputest.Upload(r.Session, l.directory), NumPostings: l.n}
	var chosen cuda.Buffer[uint32]
	if selected != nil {
		blocks = len(selected)
		chosen = gputest.Upload(r.Session, selected)
	}
	out := gputest.Alloc[uint32](r.Session, blocks*codec.BlockLen)
	list, err := decode.NewList(s, chosen, out)
	r.Must(err)
	r.Must(r.kernels.DecodeList(r.Stream, c, decode.DocIDs, list))
	return gputest.Download(r.Session, out)
}

func (r *rig) check(name string, on decode.Codec, c codec.Codec, docIDs []uint32) {
	r.Helper()
	l := encode(c, docIDs)
	if got := r.decode(on, l, nil)[:len(docIDs)]; !slices.Equal(got, docIDs) {
		for i := range docIDs {
			if got[i] != docIDs[i] {
				r.Fatalf("%s, %s: DocID %d of %d is %d, want %d", c.Name(), name, i, len(docIDs), got[i], docIDs[i])
			}
		}
	}
	blocks := uint32(len(l.directory) / decode.EntryWords)
	selected := []uint32{blocks - 1, 0, blocks / 2}
	got := r.decode(on, l, selected)
	for k, b := range selected {
		want := docIDs[b*codec.BlockLen : min(int(b+1)*codec.BlockLen, len(docIDs))]
		if !slices.Equal(got[k*codec.BlockLen:][:len(want)], want) {
			r.Fatalf("%s, %s: block %d of %d is not decoded alone", c.Name(), name, b, blocks)
		}
	}
}

type decoded struct {
	codec codec.Codec
	on    decode.Codec
}

// cases are codecs with their decoders here, from no to many exceptions.
func cases() (all []decoded) {
	for _, share := range []codec.Share{codec.NoExceptions, 0, 0.3, codec.MaxExceptions} {
		for _, segment := range []int{0, 32, 64} {
			c := codec.NewPFD{Exceptions: share, Segment: segment}
			all = append(all, decoded{c, NewPFD(c)})
		}
		for scheme := codec.LRC; scheme <= codec.HSLRC; scheme++ {
			c := codec.Regression{Scheme: scheme, Exceptions: share}
			all = append(all, decoded{c, Patched(c)})
		}
	}
	return all
}

// The conformance cases of codec.ListCodec, and random lists of changing density.
func TestDecoders(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(4, 2))
	for _, c := range cases() {
		for _, l := range codectest.Lists() {
			if len(l.DocIDs) < 20*codec.BlockLen {
				r.check(l.Name, c.on, c.codec, l.DocIDs)
			}
		}
		for _, n := range []int{1, 127, 128, 129, 300, 1500} {
			r.check("random", c.on, c.codec, randomList(rng, n))
		}
	}
}

func randomList(rng *rand.Rand, n int) []uint32 {
	docIDs := make([]uint32, n)
	docID, spread := ^uint32(0), 1
	for j := range docIDs {
		if rng.IntN(30) == 0 {
			spread = rng.IntN(20)
		}
		gap := rng.Uint32N(1 << spread)
		if rng.IntN(6) == 0 {
			gap = rng.Uint32N(1 << 18)
		}
		docID += 1 + gap
		docIDs[j] = docID
	}
	return docIDs
}

// Random bytes under a plausible directory: no access may leave the list or the output.
func TestDamagedLists(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(10, 11))
	for _, c := range cases() {
		for range 6 {
			payload := make([]byte, 1+rng.IntN(1200))
			for i := range payload {
				payload[i] = byte(rng.Uint32())
			}
			l := encodedBytes(encoded{n: 1 + rng.IntN(3*codec.BlockLen)}, payload)
			for i := 0; i < l.n; i += codec.BlockLen {
				l.directory = append(l.directory, rng.Uint32(), rng.Uint32(), rng.Uint32N(uint32(len(payload))), (rng.Uint32N(32)+64)<<16)
			}
			r.decode(c.on, l, nil)
		}
	}
}

func TestCodecOf(t *testing.T) {
	for name, want := range map[string]string{"newpfd": "newpfd", "parapfor": "parapfor", "lrc": "lrc"} {
		c, err := codec.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if on, ok := CodecOf(c); !ok || on.String() != want {
			t.Errorf("%s: %v, %v", name, on, ok)
		}
	}
	if _, ok := CodecOf(codec.PEF{}); ok {
		t.Error("pef is decoded")
	}
	for scheme, want := range []string{"patched_lrc", "patched_lrcseg", "patched_seglrc", "patched_hslrc"} {
		if got := Patched(codec.Regression{Scheme: codec.Scheme(scheme)}).String(); got != want {
			t.Errorf("scheme %d: %s, want %s", scheme, got, want)
		}
	}
}
