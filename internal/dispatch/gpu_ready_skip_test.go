package dispatch

import (
	"context"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
)

// skipReady runs f while the GPU is busy with a former commit, so that it makes nothing ready.
func skipReady(g *GPU, f func()) {
	g.readying[0] <- struct{}{}
	defer func() { <-g.readying[0] }()
	f()
}

// Lists stay on the GPU, and the lists of a merged segment are loaded, if no query arrived after a
// commit for which the GPU was not made ready.
func TestReadyAfterSkipped(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(g *GPU, l *living)
	}{
		{"before a merge", func(g *GPU, l *living) {
			skipReady(g, func() { l.publish(0, 7) })
			l.merge(1, 3)
		}},
		{"twice before a merge", func(g *GPU, l *living) {
			skipReady(g, func() { l.publish(0, 7) })
			skipReady(g, func() { l.publish(0, 9) })
			l.merge(1, 3)
		}},
		{"at a merge", func(g *GPU, l *living) {
			skipReady(g, func() { l.merge(1, 3) })
		}},
		{"before and at a merge", func(g *GPU, l *living) {
			skipReady(g, func() { l.publish(0, 7); l.merge(1, 3) })
		}},
		{"from a merge to the next commit but one", func(g *GPU, l *living) {
			skipReady(g, func() { l.publish(0, 7); l.merge(1, 3); l.publish(0, 9) })
			l.publish(0, 11)
		}},
		{"in a merge", func(g *GPU, l *living) {
			l.onMerged(g, func() { skipReady(g, func() { l.publish(0, 7) }) })
			l.merge(1, 3)
		}},
		{"in and at a merge", func(g *GPU, l *living) {
			skipReady(g, func() {
				l.onMerged(g, func() { l.publish(0, 7) })
				l.merge(1, 3)
			})
		}},
		{"none, with a commit in a merge", func(g *GPU, l *living) {
			l.onMerged(g, func() { l.publish(0, 7) })
			l.merge(1, 3)
		}},
		{"a merge of a merged segment", func(g *GPU, l *living) {
			skipReady(g, func() { l.publish(0, 7); l.merge(1, 3); l.publish(150, 9); l.merge(1, 3) })
		}},
		{"late", func(g *GPU, l *living) { // the views of the commit are not made when the merge begins
			l.ix.SetReady(func(ctx context.Context, next, former *index.Snapshot, merged bool) {
				if !merged {
					g.views.of(next, 1)
				}
				l.ix.SetReady(g.Ready)
			})
			l.publish(0, 7)
			l.merge(1, 3)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := testGPU(t, pipeline.Options{})
			g.smallDocs = 100
			l := newLiving(t, g, 9, 400, 150, 150)
			l.check(g, readyQueries...)
			test.run(g, l)
			before := device(g)
			l.check(g, readyQueries...)
			after := device(g)
			if n := after.Misses - before.Misses; n != 0 {
				t.Errorf("queries missed %d lists", n)
			}
			if after.Lists != 12 {
				t.Errorf("%d lists, want those of 6 words in 2 segments", after.Lists)
			}
			if len(g.views.last)+len(g.views.alone) > 0 || after.Errors != 0 {
				t.Errorf("%d last views, %d of merged segments, %d errors", len(g.views.last), len(g.views.alone), after.Errors)
			}
		})
	}
}

// onMerged calls f after a merged segment was made ready.
func (l *living) onMerged(g *GPU, f func()) {
	l.ix.SetReady(func(ctx context.Context, next, former *index.Snapshot, merged bool) {
		g.Ready(ctx, next, former, merged)
		if merged {
			f()
		}
	})
}

// Nothing stays of an index that is closed while a commit, a merge or a query begins.
func TestReadyOfClosed(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(g *GPU, l *living)
	}{
		{"after a merged segment was made ready", func(g *GPU, l *living) {
			l.onMerged(g, func() { g.Forget(l.ix) })
			l.merge(1, 3)
		}},
		{"after a merge without Ready", func(g *GPU, l *living) {
			skipReady(g, func() { l.publish(0, 7); l.merge(1, 3) })
			g.Forget(l.ix)
		}},
		{"before a view is made", func(g *GPU, l *living) { l.viewOfClosed(g, false) }},
		{"before a view of a merged segment is made", func(g *GPU, l *living) { l.viewOfClosed(g, true) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := testGPU(t, pipeline.Options{})
			g.smallDocs = 100
			l := newLiving(t, g, 10, 400, 150, 150)
			l.check(g, readyQueries...)
			test.run(g, l)
			if s := device(g); s.Lists != 0 || s.SizeBytes != 0 || len(g.views.last)+len(g.views.alone) != 0 {
				t.Errorf("%d lists, %d bytes, %d last views", s.Lists, s.SizeBytes, len(g.views.last)+len(g.views.alone))
			}
		})
	}
}

// viewOfClosed makes a view of a former snapshot of the index, which was open when its user began.
func (l *living) viewOfClosed(g *GPU, merged bool) {
	s, err := l.ix.Snapshot()
	l.must(err)
	defer s.Release()
	l.publish(0, 7)
	g.Forget(l.ix)
	v, err := g.views.get(s, 1, merged).take(g, 0, false /* impacts */)
	l.must(err)
	v.Release()
}
