package backup

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// prepared has an index with a snapshot and later changes.
func prepared(t *testing.T) *vfstest.Mem {
	t.Helper()
	fsys := vfstest.NewMem()
	change(t, fsys, "ix", 0, 1, 2, 3)
	_, err := New(fsys, "store").Create(t.Context(), Source{Dir: "ix"}, "old", nil)
	check(t, err)
	change(t, fsys, "ix", 2, 4)
	impacts(t, fsys, "ix")
	return fsys
}

type faultCase struct {
	at   int
	once bool
}

// faultCases is a sample of the n operations of work, at which to fail.
func faultCases(t *testing.T, n int) []faultCase {
	var all []faultCase
	for at := 1; at <= n; at++ {
		all = append(all, faultCase{at, false}, faultCase{at, true})
	}
	return sampletest.Some(t, 40, all)
}

func (c faultCase) plan() vfstest.Plan {
	return vfstest.Plan{FailAt: c.at, Once: c.once, ShortWrite: c.at%2 == 0}
}

// operations counts the ones of work.
func operations(t *testing.T, fsys vfs.FS, work func(*Store) error) int {
	t.Helper()
	counting := vfstest.NewFaulty(fsys, vfstest.Plan{})
	check(t, work(New(counting, "store")))
	return counting.Ops()
}

// After any failed operation, snapshots are whole, and the next attempt succeeds.
func TestCreateFaults(t *testing.T) {
	create := func(s *Store) error { _, err := s.Create(t.Context(), Source{Dir: "ix"}, "new", nil); return err }
	for _, c := range faultCases(t, operations(t, prepared(t), create)) {
		mem := prepared(t)
		faulty := vfstest.NewFaulty(mem, c.plan())
		err := create(New(faulty, "store"))
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("%+v: still open: %v", c, open)
		}
		good := New(mem, "store")
		if got := restored(t, good, mem, "old"); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("%+v: the old snapshot has %v", c, got)
		}
		there, existsErr := exists(mem, "store/new"+suffix)
		check(t, existsErr)
		if err == nil && !there {
			t.Errorf("%+v: no error and no snapshot", c)
		}
		if !there {
			check(t, create(good))
		}
		if got := restored(t, good, mem, "new"); !slices.Equal(got, []int{1, 3, 4}) {
			t.Errorf("%+v: the new snapshot has %v", c, got)
		}
	}
}

// A restore that fails leaves no index, or a whole one.
func TestRestoreFaults(t *testing.T) {
	mem := prepared(t)
	_, err := New(mem, "store").Create(t.Context(), Source{Dir: "ix"}, "new", nil)
	check(t, err)
	restore := func(s *Store) error {
		check(t, mem.RemoveAll("out"))
		_, err := s.Restore(t.Context(), "new", "out", nil)
		return err
	}
	for _, c := range faultCases(t, operations(t, mem, restore)) {
		faulty := vfstest.NewFaulty(mem, c.plan())
		err := restore(New(faulty, "store"))
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("%+v: still open: %v", c, open)
		}
		there, existsErr := exists(mem, "out/MANIFEST")
		check(t, existsErr)
		if err == nil && !there {
			t.Errorf("%+v: no error and no index", c)
		}
		if there {
			if got := ids(t, mem, "out"); !slices.Equal(got, []int{1, 3, 4}) {
				t.Errorf("%+v: restored %v", c, got)
			}
		}
	}
}

// Commits and merges at any moment leave the snapshot consistent.
func TestCommitsMeanwhile(t *testing.T) {
	create := func(s *Store) error { _, err := s.Create(t.Context(), Source{Dir: "ix"}, "new", nil); return err }
	var moments []int
	for at := range operations(t, prepared(t), create) {
		moments = append(moments, at+1)
	}
	for _, at := range sampletest.Some(t, 30, moments) {
		mem := prepared(t)
		n, plan := 0, vfstest.Plan{}
		plan.Before = func() {
			if n++; n == at {
				change(t, mem, "ix", 1, 5)
				merge(t, mem, "ix")
			}
		}
		faulty := vfstest.NewFaulty(mem, plan)
		if err := create(New(faulty, "store")); err != nil {
			t.Fatalf("a commit before operation %d, %v: %v", at, faulty.Operations()[at-1], err)
		}
		got := restored(t, New(mem, "store"), mem, "new")
		if !slices.Equal(got, []int{1, 3, 4}) && !slices.Equal(got, []int{3, 4, 5}) {
			t.Errorf("a commit before operation %d: %v", at, got)
		}
	}
}

// A full disk leaves the snapshots that are there.
func TestFullDisk(t *testing.T) {
	for bytes := int64(1); ; bytes += 512 {
		mem := prepared(t)
		faulty := vfstest.NewFaulty(mem, vfstest.Plan{DiskBytes: bytes})
		_, err := New(faulty, "store").Create(t.Context(), Source{Dir: "ix"}, "new", nil)
		if got := restored(t, New(mem, "store"), mem, "old"); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("%d bytes: the old snapshot has %v", bytes, got)
		}
		if err == nil {
			return
		}
		if there, _ := exists(mem, "store/new"+suffix); there {
			t.Errorf("%d bytes: a snapshot in spite of %v", bytes, err)
		}
	}
}
