package pipeline

import (
	"testing"
)

// Warm uploads images if all fit, also page-locked lists if half fit, else compressed lists
// and directories.
func TestWarm(t *testing.T) {
	c := newCollection(t, 4000, 1, "")
	images, packed := int64(0), int64(0)
	{
		e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, Lanes: 2})
		v := c.attach(t, e)
		if lists, total, err := v.Warm(t.Context(), WarmOptions{}); lists != numWords || total != numWords || err != nil {
			t.Fatalf("%d of %d lists, error %v", lists, total, err)
		}
		s := e.Stats().Devices[0]
		if s.Lists != numWords || s.Compressed != 0 || s.Host.Lists != 0 {
			t.Errorf("all images fit: %+v, want images only", s)
		}
		images = s.SizeBytes
		v.Release()
	}
	for name, share := range map[string]int64{"most images": 70, "few images": 30, "few lists": 2} {
		t.Run(name, func(t *testing.T) {
			var progress, total int64
			e := open(t, Options{Memory: Memory{Bytes: images * share / 100}, Lanes: 2})
			v := c.attach(t, e)
			defer v.Release()
			lists, _, err := v.Warm(t.Context(), WarmOptions{Progress: func(d, n int64) { progress, total = d, n }})
			if err != nil || progress != total || total == 0 {
				t.Fatalf("error %v, progress %d of %d", err, progress, total)
			}
			s := e.Stats().Devices[0]
			packed = s.Host.SizeBytes
			if s.Host.Lists != numWords || s.Lists != lists || s.Errors != 0 || s.SizeBytes > s.LimitBytes {
				t.Errorf("%d lists, %+v: want all lists page-locked", lists, s)
			}
			switch name {
			case "most images":
				if s.Compressed != 0 || s.Directories != 0 || lists == 0 || lists == numWords {
					t.Errorf("%+v: want images", s)
				}
			case "few images":
				if s.Compressed != s.Lists || lists == 0 || lists+s.Directories < numWords {
					t.Errorf("%+v, %d bytes in all: want compressed lists", s, packed)
				}
			case "few lists":
				if s.Compressed != s.Lists || s.Directories == 0 || lists == numWords {
					t.Errorf("%+v: want directories", s)
				}
			}
			if again, _, err := v.Warm(t.Context(), WarmOptions{}); again != lists || err != nil {
				t.Errorf("second Warm: %d lists, first %d, error %v", again, lists, err)
			}
			for _, q := range c.queries(t) {
				q.Path = PathPacked
				c.check(t, v, q, nil)
			}
			if after := e.Stats().Devices[0]; after.Asked.File != 0 {
				t.Errorf("%+v: lists were read from the file", after.Asked)
			}
		})
	}
}
