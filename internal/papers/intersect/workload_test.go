package intersect

import (
	"slices"
	"testing"
)

func TestRandomList(t *testing.T) {
	for _, c := range []struct {
		n       int
		numDocs uint32
	}{{0, 10}, {1, 1}, {10, 10}, {1000, 25_200_000}, {5000, 8000}} {
		list := RandomList(3, c.n, c.numDocs)
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%d of %d: not strictly rising", c.n, c.numDocs)
		}
		if len(list) > 0 && list[len(list)-1] >= c.numDocs {
			t.Errorf("%d of %d: highest is %d", c.n, c.numDocs, list[len(list)-1])
		}
		if len(list) > c.n || len(list) < c.n*9/10 {
			t.Errorf("%d of %d: %d DocIDs", c.n, c.numDocs, len(list))
		}
	}
}

// The timed runs leave the same result as a plain run.
func TestTime(t *testing.T) {
	r := newRig(t)
	docIDs := rising(1000, 0, 3)
	a := List{DocIDs: r.upload(docIDs, 0)}
	w, err := NewWorkspace(r.Device, 1000, 1000)
	r.Must(err)
	defer w.Free()
	out, err := NewCandidates(r.Device, 2, 1000)
	r.Must(err)
	defer out.Free()
	_, err = Time(r.Stream, 2, func() error { return r.x.MergePath(r.Stream, w, a, a, out) })
	r.Must(err)
	if got, want := r.candidates(out, 2), mergeLists(docIDs, docIDs); !got.equal(want) {
		t.Errorf("after Time: %s", difference(got, want))
	}
	if _, err := Time(r.Stream, 1, func() error { return r.x.MergePath(r.Stream, w, a, a, Candidates{}) }); err == nil {
		t.Error("the error of what is timed is lost")
	}
}
