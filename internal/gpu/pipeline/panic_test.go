package pipeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
)

// panickingOthers panic when they are asked.
type panickingOthers struct{}

func (panickingOthers) Begin([]int, []int) {}
func (panickingOthers) Take(int) bool      { panic("others") }

// panics calls f, which is to panic, and returns what is known of it.
func panics(t *testing.T, f func() error) (c *invariant.Caught) {
	t.Helper()
	defer func() {
		if value := recover(); value != nil {
			c = invariant.Catch(value)
		}
	}()
	if err := f(); err != nil {
		t.Errorf("error %v", err)
	}
	t.Error("it does not panic")
	return new(invariant.Caught)
}

// A run that panics, wherever it is, gives back its lane, and lists and memory: the same
// lanes answer the next queries, and the Engine closes. The panic goes on where the run was
// asked for, with the stack of the goroutine that had it.
func TestRunPanics(t *testing.T) {
	c := newCollection(t, 1000, 2, "")
	const wrong = 99 // a field that no segment has
	broken := func(path Path, words ...int) *Query {
		q := c.query(t, false, words...)
		q.Path = path
		for i := range q.Legs {
			q.Legs[i].Field = wrong
		}
		return q
	}
	sound := func(path Path, words ...int) *Query {
		q := c.query(t, false, words...)
		q.Path = path
		return q
	}
	for name, test := range map[string]struct {
		memory int64
		before *Query
		run    func(v *View) error
		stack  string
	}{
		"list is brought": {
			4 << 20, nil,
			func(v *View) error { return withoutKernels(t, v, sound(PathImages, 3, 2)) }, "uploader).fill",
		},
		"list is there": {
			4 << 20, sound(PathImages, 9, 2),
			func(v *View) error { return runAll(t, v, nil, broken(PathImages, 9, 2)) }, "lane).query",
		},
		"batch": {
			4 << 20, sound(PathImages, 3),
			func(v *View) error { return runAll(t, v, nil, sound(PathImages, 5), broken(PathImages, 3)) }, "lane).searchAll",
		},
		"lists where they lie": {
			4 << 10, nil,
			func(v *View) error { return runAll(t, v, nil, broken(PathDirect, 3, 2)) }, "lane).listOf",
		},
		"many where they lie": {
			4 << 10, nil,
			func(v *View) error {
				return runAll(t, v, nil, broken(PathDirect, 3, 2), broken(PathDirect, 5, 2), broken(PathDirect, 5, 4))
			}, "lane).listOf",
		},
		"step": {
			4 << 10, nil,
			func(v *View) error {
				q := broken(PathDirect, 3, 2)
				return v.Intersect(t.Context(), &Step{Legs: q.Legs, NumTerms: q.NumTerms, K: 10}, nil)
			}, "lane).listOf",
		},
		"some where they lie": {
			4 << 20, nil,
			func(v *View) error { return runAll(t, v, nil, sound(PathImages, 3), broken(PathDirect, 3, 2)) }, "runSplit",
		},
		"parts": {
			6 << 10, nil,
			func(v *View) error {
				v.engine.devices[0].tight.Store(true)
				return withoutKernels(t, v, sound(PathImages, 11), sound(PathImages, 10), sound(PathImages, 9), sound(PathImages, 1))
			}, "parts).answer",
		},
		"others": {
			6 << 10, nil,
			func(v *View) error {
				v.engine.devices[0].tight.Store(true)
				return runAll(t, v, panickingOthers{}, sound(PathImages, 11), sound(PathImages, 10), sound(PathImages, 9), sound(PathImages, 1))
			}, "panickingOthers.Take",
		},
		"warm": {
			4 << 20, nil,
			func(v *View) error {
				_, _, err := v.Warm(t.Context(), WarmOptions{Progress: func(int64, int64) { panic("progress") }})
				return err
			}, "warming).pass",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, Options{Memory: Memory{Bytes: test.memory}, Lanes: 2})
			v := c.attach(t, e)
			if test.before != nil {
				c.check(t, v, test.before, nil)
			}
			d := e.devices[0]
			for range 3 { // more often than there are lanes
				if bug := panics(t, func() error { return test.run(v) }); !strings.Contains(bug.Error(), test.stack) {
					t.Errorf("the panic does not come from %s: %v", test.stack, bug)
				}
				for range d.numLanes {
					l := <-d.lanes
					if len(l.entries)+len(l.held)+len(l.uploader.lists) != 0 || l.uploader.making != nil {
						t.Errorf("a lane holds %d images, %d compressed lists, %d that are sent; it makes %v", len(l.entries), len(l.held), len(l.uploader.lists), l.uploader.making)
					}
					d.lanes <- l
				}
				if n := len(d.lanes); n != d.numLanes || d.holders.n != 0 {
					t.Fatalf("%d of %d lanes are there, %d runs hold lists", n, d.numLanes, d.holders.n)
				}
			}
			for range 2 { // each lane
				q := sound(PathDirect, 3, 2)
				c.check(t, v, q, nil)
				if q.Path = PathImages; test.memory > 1<<20 {
					c.check(t, v, q, nil)
				}
			}
			v.Release()
			if s := e.Stats().Devices[0]; s.Lists != 0 || s.SizeBytes != 0 || s.Host.SizeBytes != 0 || s.Lost != "" {
				t.Errorf("%+v: want nothing left", s)
			}
			closed := make(chan error, 1)
			go func() { closed <- e.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("Close waits for a lane that was not given back")
			}
		})
	}
}

// runAll runs queries together.
func runAll(t *testing.T, v *View, others Others, queries ...*Query) error {
	return v.Run(t.Context(), queries, make([]Result, len(queries)), others, nil)
}

// withoutKernels is runAll where there is nothing to make images with.
func withoutKernels(t *testing.T, v *View, queries ...*Query) error {
	d := v.engine.devices[0]
	kernels := d.fast
	defer func() { d.fast = kernels }()
	d.fast = nil
	return runAll(t, v, nil, queries...)
}

// A commit that cannot be attached since something panics leaves nothing on the devices.
func TestAttachPanics(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	s := Segment{Key: "a", NumDocs: 1000, Base: base.DocID(0), Live: make([]uint64, 3), Segment: c.snapshot.Segments[0].Segment} // too few words
	bug := panics(t, func() error {
		_, err := e.Attach([]Segment{{Key: "b", NumDocs: 1000, Segment: s.Segment}, s})
		return err
	})
	if !strings.Contains(bug.Error(), "index out of range") || len(e.parts) != 0 || len(e.devices[0].lanes) != 1 {
		t.Errorf("%d parts, %d lanes are left: %v", len(e.parts), len(e.devices[0].lanes), bug)
	}
	if errors.Unwrap(bug) == nil {
		t.Error("a runtime error is not one")
	}
}

// A panic of a goroutine that copies a part of a list goes on where the copy was asked for.
func TestCopyPanics(t *testing.T) {
	src := make([]byte, 3<<20)
	if bug := panics(t, func() error { copyWide(make([]byte, 1<<20), src); return nil }); !strings.Contains(bug.Error(), "out of range") {
		t.Errorf("it panics with %v", bug)
	}
}
