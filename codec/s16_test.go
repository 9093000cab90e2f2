package codec

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// Published cases: runs of a count and a width.
var s16Published = [16][]struct{ n, bits int }{
	{{28, 1}},
	{{7, 2}, {14, 1}},
	{{7, 1}, {7, 2}, {7, 1}},
	{{14, 1}, {7, 2}},
	{{14, 2}},
	{{1, 4}, {8, 3}},
	{{1, 3}, {4, 4}, {3, 3}},
	{{7, 4}},
	{{4, 5}, {2, 4}},
	{{2, 4}, {4, 5}},
	{{3, 6}, {2, 5}},
	{{2, 5}, {3, 6}},
	{{4, 7}},
	{{1, 10}, {2, 9}},
	{{2, 14}},
	{{1, 28}},
}

func s16Oracle(word uint32) (values []uint32) {
	at := 4
	for _, run := range s16Published[word&15] {
		for range run.n {
			v := uint32(0)
			for b := range run.bits {
				v |= word >> (at + b) & 1 << b
			}
			at += run.bits
			values = append(values, v)
		}
	}
	if at != 32 {
		panic("a case does not fill its word")
	}
	return values
}

func TestS16AgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 4000 {
		word := rng.Uint32()&^15 | uint32(i%16)
		want := s16Oracle(word)
		src := binary.LittleEndian.AppendUint32(nil, word)
		got := make([]uint32, len(want))
		if size, ok := decodeS16(got, src); !ok || size != 4 || !slices.Equal(got, want) {
			t.Fatalf("word %#x: %v, want %v", word, got, want)
		}
		again := appendS16(nil, want)
		if _, ok := decodeS16(got, again); !ok || len(again) != 4 || !slices.Equal(got, want) {
			t.Fatalf("word %#x: %v is encoded as % x, which is %v", word, want, again, got)
		}
	}
}

func TestS16WorkedBytes(t *testing.T) {
	for _, tt := range []struct {
		values []uint32
		want   []byte
	}{
		// Case 0: 28 bits, of which the first two and the last are set.
		{append([]uint32{1, 1}, append(make([]uint32, 25), 1)...), []byte{0x30, 0, 0, 0x80}},
		// Case 5: 12 in 4 bits, then 7 and 1 in 3: 5 | 12<<4 | 7<<8 | 1<<11.
		{[]uint32{12, 7, 1}, []byte{0xc5, 0x0f, 0, 0}},
		// Case 15, twice.
		{[]uint32{1<<28 - 1, 1 << 27}, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0x80}},
		// Case 14: two of 14 bits.
		{[]uint32{5, 1 << 13}, []byte{0x5e, 0, 0, 0x80}},
		{nil, nil},
	} {
		if got := appendS16(nil, tt.values); !bytes.Equal(got, tt.want) {
			t.Errorf("%v: % x, want % x", tt.values, got, tt.want)
		}
	}
}

func TestS16RoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 3000 {
		values := make([]uint32, rng.IntN(200))
		width := rng.IntN(s16Bits + 1)
		for i := range values {
			values[i] = rng.Uint32() & (1<<rng.IntN(width+1) - 1)
		}
		enc := appendS16([]byte("x"), values)[1:]
		got := make([]uint32, len(values))
		size, ok := decodeS16(got, append(enc[:len(enc):len(enc)], 0xff))
		sized, sizedOK := sizeS16(enc, len(values))
		if !ok || size != len(enc) || !slices.Equal(got, values) || !sizedOK || sized != size || lengthS16(values) != size {
			t.Fatalf("%v: decoded as %v, %d of %d bytes, sizes %d and %d", values, got, size, len(enc), sized, lengthS16(values))
		}
		if len(enc) > 0 {
			if _, ok := decodeS16(got, enc[:len(enc)-1]); ok {
				t.Fatal("decoded without the last byte")
			}
		}
	}
}

func FuzzS16(f *testing.F) {
	f.Add([]byte("words of four bytes"), 20)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		if n < 0 || n > 1<<12 {
			return
		}
		got := make([]uint32, n)
		size, ok := decodeS16(got, src)
		sized, sizedOK := sizeS16(src, n)
		if ok != sizedOK || ok && (size != sized || size > len(src)) {
			t.Fatalf("decodeS16: %d, %t; sizeS16: %d, %t", size, ok, sized, sizedOK)
		}
		if ok {
			again := make([]uint32, n)
			enc := appendS16(nil, got)
			if _, ok := decodeS16(again, enc); !ok || !slices.Equal(again, got) {
				t.Fatalf("%v is encoded as % x", got, enc)
			}
		}
	})
}
