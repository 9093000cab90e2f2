package index

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// checkImpacts compares the visible impact-ordered lists, if there are any, with expected ones, and reports whether they
// are of a file.
func checkImpacts(t *testing.T, ix *Index) (stored bool) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	x, err := s.Impacts()
	if errors.Is(err, ErrNoImpacts) {
		return false
	}
	check(t, err)
	want := expectImpacts(t, s, impact.Ranking{Name: impact.RankingBM25, BM25: score.DefaultBM25})
	if x.IsComputed() {
		computedAre(t, s, want)
		return false
	}
	sameImpacts(t, s, want)
	return true
}

func liveIndex(t *testing.T) (*vfstest.Mem, *Index, *liveModel) {
	t.Helper()
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 3)
	for len(m.docs) < 60 {
		m.publish()
	}
	return mem, ix, m
}

// Lists are stored for the visible documents, computed after the next change, and stored again.
func TestLiveImpacts(t *testing.T) {
	_, ix, m := liveIndex(t)
	l := m.live
	if meta, err := l.BuildImpacts(t.Context(), nil); meta != nil || err != nil {
		t.Errorf("nobody made any: %+v, %v", meta, err)
	}
	meta, err := l.BuildImpacts(t.Context(), &ImpactOptions{Codec: "raw"})
	check(t, err)
	if meta.Codec != "raw" || !checkImpacts(t, ix) {
		t.Errorf("%+v are not stored", meta)
	}
	for n := len(m.docs); len(m.docs) == n; {
		m.publish()
	}
	if checkImpacts(t, ix) {
		t.Error("lists of before a change are in use")
	}
	check(t, l.MergeAll(t.Context(), nil, joinAll))
	if checkImpacts(t, ix) {
		t.Error("lists of before a merge are in use")
	}
	if meta, err = l.BuildImpacts(t.Context(), nil); err != nil || meta.Codec != "raw" || !checkImpacts(t, ix) {
		t.Errorf("%+v are not stored again: %v", meta, err)
	}
	if meta, err = l.BuildImpacts(t.Context(), nil); err != nil || meta != nil {
		t.Errorf("stored without a change: %+v, %v", meta, err)
	}
	check(t, l.Close())
	if !checkImpacts(t, ix) {
		t.Error("the lists are gone after Close")
	}
	check(t, ix.Close())
}

// Lists of an index that changes meanwhile are not kept. Searches compute them.
func TestLiveImpactsChanged(t *testing.T) {
	mem, ix, m := liveIndex(t)
	defer ix.Close()
	l := m.live
	changed := 0
	_, err := l.BuildImpacts(t.Context(), &ImpactOptions{Progress: func(_, _ int64) {
		for n := len(m.docs); len(m.docs) == n; changed++ {
			m.publish()
		}
	}})
	if !errors.Is(err, ErrChanged) || changed == 0 {
		t.Errorf("error %v after %d changes", err, changed)
	}
	if checkImpacts(t, ix) || slices.ContainsFunc(mem.Names(), func(name string) bool { return strings.Contains(name, "impacts-") }) {
		t.Errorf("lists of a former state are in %q", mem.Names())
	}
	check(t, l.Close())
}

// closesAt calls a function when a file is made.
type closesAt struct {
	*vfstest.Mem
	name  string
	close func()
	fail  error // nil: none
}

func (c *closesAt) Create(name string) (vfs.File, error) {
	if name == c.name {
		if c.close(); c.fail != nil {
			return nil, c.fail
		}
	}
	return c.Mem.Create(name)
}

// Close ends a build, and waits for its end. An error that the build has meanwhile is its error.
func TestCloseEndsLiveImpacts(t *testing.T) {
	closeEndsLiveImpacts(t, nil, base.ErrClosed)
	closeEndsLiveImpacts(t, syscall.EIO, syscall.EIO)
}

func closeEndsLiveImpacts(t *testing.T, fail, want error) {
	t.Helper()
	mem, ix, m := liveIndex(t)
	_, err := m.live.Flush(t.Context())
	check(t, errors.Join(err, m.live.Close(), ix.Close()))
	fs := &closesAt{Mem: mem, name: "ix/" + impactsTemp, fail: fail}
	ix, err = Open(fs, "ix")
	check(t, err)
	defer ix.Close()
	l, err := ix.Live()
	check(t, err)
	closed := make(chan error, 1)
	fs.close = func() { // between the passes over the lists
		go func() { closed <- l.Close() }()
		for closing := false; !closing; {
			l.mu.Lock()
			closing = l.closing
			l.mu.Unlock()
		}
	}
	if _, err := l.BuildImpacts(t.Context(), &ImpactOptions{}); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	check(t, <-closed)
	if checkImpacts(t, ix) {
		t.Error("lists of a build that was ended")
	}
	if _, err := l.BuildImpacts(t.Context(), nil); !errors.Is(err, base.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Wherever the file system fails, the index stays as it is, and the next build succeeds.
func TestLiveImpactsFaults(t *testing.T) {
	mem, ix, m := liveIndex(t)
	_, err := m.live.Flush(t.Context())
	check(t, errors.Join(err, m.live.Close(), ix.Close()))
	run := func(plan vfstest.Plan) (fs *vfstest.Mem, faulty *vfstest.Faulty, opened, built int, stored bool, err error) {
		fs = mem.Clone()
		faulty = vfstest.NewFaulty(fs, plan)
		ix, err := Open(faulty, "ix")
		check(t, err)
		defer ix.Close()
		l, err := ix.Live()
		check(t, err)
		defer l.Close()
		opened = faulty.Ops()
		_, err = l.BuildImpacts(t.Context(), &ImpactOptions{})
		built = faulty.Ops()
		return fs, faulty, opened, built, checkImpacts(t, ix), err
	}
	_, _, opened, built, stored, err := run(vfstest.Plan{})
	check(t, err)
	if !stored {
		t.Fatal("nothing is stored")
	}
	for at := opened + 1; at <= built; at++ {
		fs, faulty, _, _, stored, err := run(vfstest.Plan{FailAt: at, Once: true})
		operation := faulty.Operations()[at-1]
		if err != nil && !errors.Is(err, vfstest.ErrInjected) || err == nil && !stored {
			t.Errorf("%s fails: error %v, lists stored: %t", operation, err, stored)
		}
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("%s fails: %q are still open", operation, open)
		}
		ix, err := Open(fs, "ix")
		check(t, err)
		sameLive(t, ix, m.docs)
		_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
		check(t, err)
		if !checkImpacts(t, ix) {
			t.Errorf("%s failed: the lists are not stored by the next build", operation)
		}
		check(t, ix.Close())
	}
}
