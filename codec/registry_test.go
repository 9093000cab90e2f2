package codec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestFamiliesAreSorted(t *testing.T) {
	if names := Names(); !slices.IsSorted(names) {
		t.Errorf("families are not sorted by name: %v", names)
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "size=4,share=0.5"},
		{"size=8", "size=8,share=0.5"},
		{"share=0.25,size=1", "size=1,share=0.25"},
		{"size=9", "want a whole number in 1..8"},
		{"size=two", "want a whole number in 1..8"},
		{"share=NaN", "want a number in 0..1"},
		{"colour=1", "there are: size, share"},
		{"size", "is not key=value"},
		{"size=", "is not key=value"},
		{"size=2,size=3", "twice"},
	} {
		t.Run(c.text, func(t *testing.T) {
			p, err := parseParams(c.text, c.text != "")
			got := ""
			if err == nil {
				size, share := p.int("size", 4, 1, 8), p.float("share", 0.5, 0, 1)
				got, err = fmt.Sprintf("size=%d,share=%g", size, share), p.err()
			}
			if err != nil {
				if got = err.Error(); !errors.Is(err, ErrUnknown) {
					t.Errorf("%q: unexpected kind of error: %v", c.text, err)
				}
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%q: %s, want %s", c.text, got, c.want)
			}
		})
	}
	if _, err := Lookup("raw:size=1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Lookup of a codec with a parameter that it does not have: %v", err)
	}
	if got, want := spec("x", given("size", 4, 4), given("share", 0.25, 0.5)), "x:share=0.25"; got != want {
		t.Errorf("spec: %q, want %q", got, want)
	}
}

// Lookup of a codec's name returns the same encoding.
func TestNamesAreLookedUp(t *testing.T) {
	freqs := make([]uint32, BlockLen)
	for i := range freqs {
		freqs[i] = 1 + uint32(i*i*i%1000)
	}
	check := func(c Codec) {
		same, err := Lookup(c.Name())
		if err != nil || same.Name() != c.Name() {
			t.Errorf("Lookup(%q) of %+v: %v, %v", c.Name(), c, same, err)
			return
		}
		want, width := c.AppendFreqs(nil, freqs)
		if got, w := same.AppendFreqs(nil, freqs); string(got) != string(want) || w != width {
			t.Errorf("%+v does not encode like %q", c, c.Name())
		}
	}
	for _, share := range []Share{0, NoExceptions, SmallestSize, 1e-300, 0.1, 0.3, 0.6, 0.9, 1, 7, -0.5, -7, Share(math.NaN()), Share(math.Inf(1))} {
		for _, length := range []int{0, 1, 32, 48, 64, 100, 128, 512, 4096, 1 << 20, -3} {
			check(PForDelta{Exceptions: share, Segment: length})
			check(PForDelta{Exceptions: share, Segment: length, Plain: true})
			check(NewPFD{Exceptions: share, Segment: length})
			check(ParaPFor{Exceptions: share, Segment: length})
			check(PForDeltaRec{Exceptions: share, Block: length, Depth: length%9 - 3})
			for s := range numSchemes {
				check(Regression{Scheme: s, Exceptions: share, SegmentLen: length})
			}
		}
	}
}
