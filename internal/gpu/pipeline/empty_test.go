package pipeline

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Empty payloads are of the first documents of a segment, with one occurrence each.
func TestEmptyPayloads(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const numDocs = 2304 // large enough for decoding on the device
	c := newCollectionOf(t, rng, numDocs, 1, "", func(doc int) string {
		words := []string{"r0"}
		if doc == 0 {
			words = append(words, "r1")
		}
		if doc < 100 {
			words = append(words, "r2")
		}
		if doc < 1300 {
			words = append(words, "r3")
		}
		for range rng.IntN(4) {
			words = append(words, "r4")
		}
		return strings.Join(words, " ")
	})
	for name, o := range map[string]Options{
		"images":         {Memory: Memory{Bytes: 1 << 20}},
		"page-locked":    {Memory: Memory{Bytes: 512}},
		"device":         {Memory: Memory{Bytes: 64 << 10}, HostMemory: HostMemory{None: true}},
		"images, device": {Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Lanes = 1
			e := open(t, o)
			v := c.attach(t, e)
			defer v.Release()
			for _, words := range [][]int{{0}, {1}, {2}, {1, 2}, {3, 0}, {2, 4, 0}, {3, 4}} {
				if payload, _ := c.query(t, false, words...).Legs[0].List.Raw(); len(payload) > 0 {
					t.Errorf("r%d has a payload of %d bytes, want 0", words[0], len(payload))
				}
				for _, conjunctive := range []bool{false, true} {
					q := c.query(t, conjunctive, words...)
					for _, q.Path = range []Path{PathPacked, PathImages} {
						if q.Path == PathPacked || o.Memory.Bytes == 1<<20 {
							c.check(t, v, q, nil)
						}
					}
				}
				q := c.query(t, true, words...)
				c.intersect(t, v, q, []int{len(words)}, false)
			}
			if s := e.Stats().Devices[0]; s.Errors != 0 || s.Packed == 0 || s.BytesUploaded == 0 && name != "page-locked" {
				t.Errorf("%+v: want packed runs without errors", s)
			}
		})
	}
}
