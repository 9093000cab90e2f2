package pipeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
)

type panickingOthers struct{}

func (panickingOthers) Begin(int, []int, []int) {}
func (panickingOthers) Take(int) bool           { panic("others") }

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
	t.Error("no panic")
	return new(invariant.Caught)
}

// The lane, lists and memory are returned. The panic continues in the caller with the original
// stack.
func TestRunPanics(t *testing.T) {
	c := newCollection(t, 1000, 2, "")
	const wrong = 99 // no such field
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
		"missing image": {
			4 << 20, nil,
			func(v *View) error { return withoutKernels(t, v, sound(PathImages, 3, 2)) }, "Uploader).fill",
		},
		"resident image": {
			4 << 20, sound(PathImages, 9, 2),
			func(v *View) error { return runAll(t, v, nil, broken(PathImages, 9, 2)) }, "lane).query",
		},
		"batch": {
			4 << 20, sound(PathImages, 3),
			func(v *View) error { return runAll(t, v, nil, sound(PathImages, 5), broken(PathImages, 3)) }, "batchRun).some",
		},
		"packed": {
			4 << 10, nil,
			func(v *View) error { return runAll(t, v, nil, broken(PathPacked, 3, 2)) }, "lane).listOf",
		},
		"packed batch": {
			4 << 10, nil,
			func(v *View) error {
				return runAll(t, v, nil, broken(PathPacked, 3, 2), broken(PathPacked, 5, 2), broken(PathPacked, 5, 4))
			}, "lane).listOf",
		},
		"bands": {
			4 << 20, nil,
			func(v *View) error {
				uncounted := sound(PathBands, 5)
				uncounted.Count = false
				wrong := broken(PathBands, 3, 2)
				wrong.Count = false
				return runAll(t, v, nil, uncounted, wrong)
			}, "bandRun).list",
		},
		"step": {
			4 << 10, nil,
			func(v *View) error {
				q := broken(PathPacked, 3, 2)
				return v.Intersect(t.Context(), &Step{Legs: q.Legs, NumTerms: q.NumTerms, K: 10}, nil)
			}, "lane).listOf",
		},
		"mixed batch": {
			4 << 20, nil,
			func(v *View) error { return runAll(t, v, nil, sound(PathImages, 3), broken(PathPacked, 3, 2)) }, "runSplit",
		},
		"slices": {
			6 << 10, nil,
			func(v *View) error {
				v.engine.devices[0].tight.Store(true)
				return withoutKernels(t, v, sound(PathImages, 11), sound(PathImages, 10), sound(PathImages, 9), sound(PathImages, 1))
			}, "slicedRun).answer",
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
			for range 3 { // more than the number of lanes
				if bug := panics(t, func() error { return test.run(v) }); !strings.Contains(bug.Error(), test.stack) {
					t.Errorf("panic not from %s: %v", test.stack, bug)
				}
				for range d.numLanes {
					l := d.lanes.take(nil, 1)
					if len(l.entries)+len(l.packed.held) != 0 || l.uploader.Busy() {
						t.Errorf("lane holds %d images and %d compressed lists; busy: %t", len(l.entries), len(l.packed.held), l.uploader.Busy())
					}
					d.lanes.put(l)
				}
				if n, users := d.lanes.count(), numHolders(d); n != d.numLanes || users != 0 {
					t.Fatalf("%d of %d lanes free, %d runs hold lists", n, d.numLanes, users)
				}
			}
			for range 2 { // each lane
				q := sound(PathPacked, 3, 2)
				c.check(t, v, q, nil)
				if q.Path = PathImages; test.memory > 1<<20 {
					c.check(t, v, q, nil)
				}
			}
			v.Release()
			if s := e.Stats().Devices[0]; s.Lists != 0 || s.SizeBytes != 0 || s.Host.SizeBytes != 0 || s.Lost != "" {
				t.Errorf("%+v: want no lists", s)
			}
			closed := make(chan error, 1)
			go func() { closed <- e.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(3 * time.Minute):
				t.Fatal("Close waits for a lane that was not returned")
			}
		})
	}
}

func numHolders(d *device) int {
	n, _ := d.Probe().Holders()
	return n
}

func runAll(t *testing.T, v *View, others Others, queries ...*Query) error {
	return v.Run(t.Context(), queries, make([]Result, len(queries)), others, nil)
}

func withoutKernels(t *testing.T, v *View, queries ...*Query) error {
	var err error
	v.engine.devices[0].Probe().WithoutKernels(func() { err = runAll(t, v, nil, queries...) })
	return err
}

func TestAttachPanics(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	s := Segment{Key: "a", NumDocs: 1000, Base: base.DocID(0), Live: make([]uint64, 3), Segment: c.snapshot.Segments[0].Segment} // too few words
	bug := panics(t, func() error {
		_, err := e.Attach([]Segment{{Key: "b", NumDocs: 1000, Segment: s.Segment}, s})
		return err
	})
	if !strings.Contains(bug.Error(), "index out of range") || e.devices[0].Probe().Shards() != 0 || e.devices[0].lanes.count() != 1 {
		t.Errorf("%d shards, %d free lanes: %v", e.devices[0].Probe().Shards(), e.devices[0].lanes.count(), bug)
	}
	if errors.Unwrap(bug) == nil {
		t.Error("the panic does not wrap a runtime error")
	}
}
