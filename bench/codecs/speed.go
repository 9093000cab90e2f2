package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/simd"
)

type speed struct {
	Codec string `json:"codec"`
	SIMD  string `json:"simd"`
	// "docids" and "freqs" by block, "list" (DocIDs of whole lists).
	What string `json:"what"`
	// "uniform", with values up to Width bits, or "lists".
	Data  string `json:"data"`
	Width int    `json:"width,omitempty"`
	// 10^9 values per second, and bits per value.
	Gints float64 `json:"gints_per_s"`
	Bits  float64 `json:"bits_per_value"`
}

// A set encoded as consecutive blocks. If the codec encodes whole lists, their
// DocIDs are in whole.
type encoded struct {
	codec  codec.Codec
	list   codec.ListCodec // nil if DocIDs are encoded by block
	blocks []block
	bytes  []byte // the blocks' data
	whole  []whole
	docs   int // bytes of DocIDs
	freqs  int // bytes of frequencies
	values int
}

type block struct {
	docs, freqs         int // offsets in bytes
	base                uint32
	docWidth, freqWidth uint8
	want                *list
	at                  int // index in want of its first posting
}

type whole struct {
	bytes []byte
	want  *list
}

// In an index, the directory follows the last block.
const padding = 64

func encode(c codec.Codec, s set) *encoded {
	e := &encoded{codec: c}
	e.list, _ = c.(codec.ListCodec)
	for i := range s.lists {
		l := &s.lists[i]
		e.values += len(l.docIDs)
		if e.list != nil {
			b := e.list.AppendList(nil, l.docIDs)
			e.docs += len(b)
			e.whole = append(e.whole, whole{bytes: append(b, make([]byte, padding)...), want: l})
		}
		base := l.base
		for at := 0; at < len(l.docIDs); at += codec.BlockLen {
			b := block{docs: len(e.bytes), base: base, want: l, at: at}
			ids := l.docIDs[at : at+codec.BlockLen]
			if e.list == nil {
				e.bytes, b.docWidth = c.AppendDocIDs(e.bytes, base, ids)
				e.docs += len(e.bytes) - b.docs
			}
			b.freqs = len(e.bytes)
			e.bytes, b.freqWidth = c.AppendFreqs(e.bytes, l.freqs[at:at+codec.BlockLen])
			e.freqs += len(e.bytes) - b.freqs
			base = ids[len(ids)-1]
			e.blocks = append(e.blocks, b)
		}
	}
	e.bytes = append(e.bytes, make([]byte, padding)...)
	return e
}

// Compares if check is set.
func (e *encoded) docIDs(dst *[codec.BlockLen]uint32, check bool) error {
	if e.list != nil {
		for i := range e.whole {
			w := &e.whole[i]
			n := len(w.want.docIDs)
			for b := range n / codec.BlockLen {
				if _, err := e.list.DecodeBlock(dst, w.bytes, n, b); err != nil {
					return err
				}
				if check && !slices.Equal(dst[:], w.want.docIDs[b*codec.BlockLen:][:codec.BlockLen]) {
					return fmt.Errorf("%s: block %d of a list is decoded wrongly", e.codec.Name(), b)
				}
			}
		}
		return nil
	}
	for i := range e.blocks {
		b := &e.blocks[i]
		if _, err := e.codec.DecodeDocIDs(dst, e.bytes[b.docs:], b.base, codec.BlockLen, b.docWidth); err != nil {
			return err
		}
		if check && !slices.Equal(dst[:], b.want.docIDs[b.at:][:codec.BlockLen]) {
			return fmt.Errorf("%s: the DocIDs of block %d are decoded wrongly", e.codec.Name(), i)
		}
	}
	return nil
}

func (e *encoded) lists(dst []uint32, check bool) error {
	for i := range e.whole {
		w := &e.whole[i]
		if err := e.list.DecodeList(dst[:len(w.want.docIDs)], w.bytes); err != nil {
			return err
		}
		if check && !slices.Equal(dst[:len(w.want.docIDs)], w.want.docIDs) {
			return fmt.Errorf("%s: list %d is decoded wrongly", e.codec.Name(), i)
		}
	}
	return nil
}

func (e *encoded) frequencies(dst *[codec.BlockLen]uint32, check bool) error {
	for i := range e.blocks {
		b := &e.blocks[i]
		if err := e.codec.DecodeFreqs(dst, e.bytes[b.freqs:], codec.BlockLen, b.freqWidth); err != nil {
			return err
		}
		if check && !slices.Equal(dst[:], b.want.freqs[b.at:][:codec.BlockLen]) {
			return fmt.Errorf("%s: the frequencies of block %d are decoded wrongly", e.codec.Name(), i)
		}
	}
	return nil
}

// At all SIMD levels of this machine.
func speeds(codecs []codec.Codec, sets []set, budget time.Duration) ([]speed, error) {
	var out []speed
	var block [codec.BlockLen]uint32
	many := make([]uint32, blocksOf*codec.BlockLen)
	for _, c := range codecs {
		for _, s := range sets {
			e := encode(c, s)
			for _, level := range simd.Levels() {
				before := simd.Set(level)
				for _, what := range []struct {
					name   string
					decode func(check bool) error
					bytes  int
				}{
					{"docids", func(check bool) error { return e.docIDs(&block, check) }, e.docs},
					{"list", func(check bool) error { return e.lists(many, check) }, e.docs},
					{"freqs", func(check bool) error { return e.frequencies(&block, check) }, e.freqs},
				} {
					if what.name == "list" && e.list == nil {
						continue
					}
					if err := what.decode(true); err != nil {
						return nil, fmt.Errorf("%s, %v: %w", c.Name(), level, err)
					}
					least, err := leastTime(what.decode, budget)
					if err != nil {
						return nil, err
					}
					out = append(out, speed{
						Codec: c.Name(), SIMD: level.String(), What: what.name, Data: s.data, Width: s.width,
						Gints: round(float64(e.values) / float64(least.Nanoseconds())), Bits: round(8 * float64(what.bytes) / float64(e.values)),
					})
				}
				simd.Set(before)
			}
		}
	}
	return out, nil
}

func round(v float64) float64 { return math.Round(1000*v) / 1000 }

// leastTime runs decode for the budget, and returns the minimum, over passes,
// of the mean time per run.
func leastTime(decode func(check bool) error, budget time.Duration) (time.Duration, error) {
	runs, passes := 1, 0
	least := time.Duration(1 << 62)
	for start := time.Now(); ; {
		before := time.Now()
		for range runs {
			if err := decode(false); err != nil {
				return 0, err
			}
		}
		now := time.Now()
		if took := now.Sub(before); took < pass && now.Sub(start) < budget {
			runs *= 2 // too short to measure
			continue
		}
		least = min(least, max(1, now.Sub(before)/time.Duration(runs)))
		if passes++; passes >= leastPasses && now.Sub(start) > budget {
			return least, nil
		}
	}
}

const (
	// Long enough to hide the clock's overhead, and short enough for some passes
	// to be undisturbed.
	pass        = 10 * time.Microsecond
	leastPasses = 32
)
