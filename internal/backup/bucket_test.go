package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// fakeObjects is a bucket in memory.
type fakeObjects struct {
	objects map[string][]byte
	calls   int
	puts    int
	fail    func(call int) error // nil: never
	lose    func(call int) error // the answer of a Put; nil: never
}

var _ Objects = (*fakeObjects)(nil)

func newFakeObjects() *fakeObjects { return &fakeObjects{objects: map[string][]byte{}} }

func (o *fakeObjects) call() error {
	o.calls++
	if o.fail == nil {
		return nil
	}
	return o.fail(o.calls)
}

func (o *fakeObjects) Put(ctx context.Context, name string, from io.Reader, create bool) error {
	data, err := io.ReadAll(from)
	if err := errors.Join(err, ctx.Err(), o.call()); err != nil {
		return err
	}
	if o.objects[name] != nil && create {
		return base.ErrExists
	}
	o.puts++
	o.objects[name] = data
	if o.lose != nil {
		return o.lose(o.calls)
	}
	return nil
}

func (o *fakeObjects) Get(_ context.Context, name string) (io.ReadCloser, error) {
	data, ok := o.objects[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if err := o.call(); err != nil {
		return io.NopCloser(io.MultiReader(bytes.NewReader(data[:len(data)/2]), failing{err})), nil //nolint:nilerr // reading returns it
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (o *fakeObjects) List(_ context.Context, prefix string) (map[string]int64, error) {
	found := map[string]int64{}
	for name, data := range o.objects {
		if strings.HasPrefix(name, prefix) {
			found[name] = int64(len(data))
		}
	}
	return found, o.call()
}

func (o *fakeObjects) Delete(_ context.Context, name string) error {
	delete(o.objects, name)
	return o.call()
}

func newTestBucket(mem *vfstest.Mem, o Objects) *Bucket {
	b := NewBucket(mem, o, "s3://test")
	b.pause = func(ctx context.Context, _ int) error { return ctx.Err() }
	return b
}

func restoredFrom(t *testing.T, b *Bucket, mem *vfstest.Mem, name string) []int {
	t.Helper()
	check(t, mem.RemoveAll("restored"))
	_, err := b.Restore(t.Context(), name, "restored", nil)
	check(t, err)
	return ids(t, mem, "restored")
}

func TestBucket(t *testing.T) {
	mem, o := vfstest.NewMem(), newFakeObjects()
	b := newTestBucket(mem, o)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	b.now = func() time.Time { now = now.Add(time.Second); return now }
	change(t, mem, "ix", 0, 1, 2, 3)
	change(t, mem, "ix", 2, 4, 5)
	impacts(t, mem, "ix")
	var done, total int64
	first, err := b.Create(t.Context(), Source{Dir: "ix", Settings: json.RawMessage("7")}, "first", func(d, n int64) { done, total = d, n })
	check(t, err)
	if first.NumDocs != 4 || first.CopiedSegments != 2 || done != total || total == 0 {
		t.Errorf("first: %+v, progress %d of %d", first, done, total)
	}
	if _, err := b.Create(t.Context(), Source{Dir: "ix"}, "first", nil); !errors.Is(err, base.ErrExists) || !strings.Contains(err.Error(), `snapshot "first" is in`) {
		t.Errorf("the same name: %v", err)
	}
	puts := o.puts
	again, err := b.Create(t.Context(), Source{Dir: "ix"}, "again", nil)
	check(t, err)
	if again.CopiedBytes != 0 || again.SharedSegments != 2 || o.puts != puts+1 {
		t.Errorf("again: %+v, %d objects written", again, o.puts-puts)
	}
	change(t, mem, "ix", 1, 6)
	second, err := b.Create(t.Context(), Source{Dir: "ix"}, "second", nil)
	check(t, err)
	if second.CopiedSegments != 1 || second.SharedSegments != 2 {
		t.Errorf("second: %+v", second)
	}
	all, err := b.List(t.Context())
	check(t, err)
	if len(all) != 3 || all[0].Name != "first" || string(all[0].Settings) != "7" || all[1].Settings != nil {
		t.Errorf("list: %+v", all)
	}
	for name, want := range map[string][]int{"first": {1, 3, 4, 5}, "second": {3, 4, 5, 6}} {
		if got := restoredFrom(t, b, mem, name); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
	// A Store and a Bucket have the same names.
	s := New(mem, "store")
	for name, data := range o.objects {
		mem.Set("store/"+name, data)
	}
	if got := restored(t, s, mem, "second"); !slices.Equal(got, []int{3, 4, 5, 6}) {
		t.Errorf("a folder with the objects has %v", got)
	}
	for _, c := range []struct{ got, want error }{
		{second1(b.Restore(t.Context(), "none", "new", nil)), base.ErrBadInput},
		{second1(b.Restore(t.Context(), "first", "ix", nil)), base.ErrExists},
		{second1(b.Delete(t.Context(), "none")), base.ErrBadInput},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("error %v, want %v", c.got, c.want)
		}
	}
	// What no snapshot needs goes.
	for _, name := range []string{"first", "again"} {
		_, err := b.Delete(t.Context(), name)
		check(t, err)
		if got := restoredFrom(t, b, mem, "second"); !slices.Equal(got, []int{3, 4, 5, 6}) {
			t.Errorf("second has %v", got)
		}
	}
	if freed := second0(b.Delete(t.Context(), "second")); freed == 0 || len(o.objects) != 0 {
		t.Errorf("%d bytes freed, left: %v", freed, slices.Collect(maps.Keys(o.objects)))
	}
}

func second1[T any](_ T, err error) error { return err }
func second0[T any](v T, _ error) T       { return v }

// Whatever call fails, once or for good, and wherever the context ends: a listed snapshot is whole, and
// the next attempt succeeds.
func TestBucketFaults(t *testing.T) {
	prepare := func() (*vfstest.Mem, *fakeObjects) {
		mem, o := vfstest.NewMem(), newFakeObjects()
		change(t, mem, "ix", 0, 1, 2, 3)
		_, err := newTestBucket(mem, o).Create(t.Context(), Source{Dir: "ix"}, "old", nil)
		check(t, err)
		change(t, mem, "ix", 2, 4)
		o.calls = 0
		return mem, o
	}
	mem, o := prepare()
	_, err := newTestBucket(mem, o).Create(t.Context(), Source{Dir: "ix"}, "new", nil)
	check(t, err)
	type fault struct {
		at   int
		kind string
	}
	var faults []fault
	for at := 1; at <= o.calls; at++ {
		for _, kind := range []string{"once", "lost", "always", "cancel"} {
			faults = append(faults, fault{at, kind})
		}
	}
	description := fault{o.calls, "lost"}
	for _, f := range append(sampletest.Some(t, 30, faults), description) {
		mem, o := prepare()
		ctx, cancel := context.WithCancel(t.Context())
		o.fail = func(call int) error {
			if call < f.at || f.kind == "once" && call > f.at || f.kind == "lost" {
				return nil
			}
			if f.kind == "cancel" {
				cancel()
				return ctx.Err()
			}
			return errors.New("injected")
		}
		o.lose = func(call int) error {
			if f.kind == "lost" && call == f.at {
				return errors.New("the answer was lost")
			}
			return nil
		}
		b := newTestBucket(mem, o)
		_, err := b.Create(ctx, Source{Dir: "ix"}, "new", nil)
		cancel()
		o.fail, o.lose = nil, nil
		if passing := f.kind == "once" || f.kind == "lost"; passing != (err == nil) {
			t.Errorf("%+v: %v", f, err)
		}
		there := o.objects["new"+suffix] != nil
		if there != (err == nil) {
			t.Errorf("%+v: error %v, listed %v", f, err, there)
		}
		if !there {
			_, err := b.Create(t.Context(), Source{Dir: "ix"}, "new", nil)
			check(t, err)
		}
		if got := restoredFrom(t, b, mem, "new"); !slices.Equal(got, []int{1, 3, 4}) {
			t.Errorf("%+v: the new snapshot has %v", f, got)
		}
		// Reading is repeated, too.
		o.calls = 0
		o.fail = func(call int) error {
			if call == f.at {
				return errors.New("injected")
			}
			return nil
		}
		if got := restoredFrom(t, b, mem, "old"); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("%+v: the old snapshot has %v", f, got)
		}
	}
}

// The snapshot of another, which takes the name meanwhile, stays.
func TestBucketTaken(t *testing.T) {
	mem, o := vfstest.NewMem(), newFakeObjects()
	change(t, mem, "ix", 0, 1, 2)
	_, err := newTestBucket(mem, o).Create(t.Context(), Source{Dir: "ix"}, "old", nil)
	check(t, err)
	other := bytes.Replace(o.objects["old"+suffix], []byte(`"old"`), []byte(`"new"`), 1)
	o.calls = 0
	o.fail = func(call int) error {
		if call == 3 { // after the two lists
			o.objects["new"+suffix] = other
		}
		return nil
	}
	if _, err := newTestBucket(mem, o).Create(t.Context(), Source{Dir: "ix"}, "new", nil); !errors.Is(err, base.ErrExists) || !bytes.Equal(o.objects["new"+suffix], other) {
		t.Errorf("error %v, %q", err, o.objects["new"+suffix])
	}
}

// Damage of an object, or of the index, is an error.
func TestBucketDamage(t *testing.T) {
	mem, o := vfstest.NewMem(), newFakeObjects()
	change(t, mem, "ix", 0, 1, 2)
	b := newTestBucket(mem, o)
	_, err := b.Create(t.Context(), Source{Dir: "ix"}, "a", nil)
	check(t, err)
	for name, good := range maps.Clone(o.objects) {
		for i := 0; i < len(good); i += max(1, len(good)/8) {
			bad := slices.Clone(good)
			bad[i] ^= 0x55
			o.objects[name] = bad
			check(t, mem.RemoveAll("restored"))
			if _, err := b.Restore(t.Context(), "a", "restored", nil); !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Errorf("restored with byte %d of %s flipped: %v", i, name, err)
			}
		}
		delete(o.objects, name)
		check(t, mem.RemoveAll("restored"))
		if _, err := b.Restore(t.Context(), "a", "restored", nil); err == nil {
			t.Errorf("restored without %s", name)
		}
		o.objects[name] = good
	}
	d, err := b.load(t.Context(), "a")
	check(t, err)
	for _, f := range d.Files {
		flipEach(t, mem, "ix/"+f.Path, func(what string) {
			other := newFakeObjects()
			if _, err := newTestBucket(mem, other).Create(t.Context(), Source{Dir: "ix"}, "a", nil); err == nil || other.objects["a"+suffix] != nil {
				t.Errorf("copied after %s", what)
			}
		})
	}
}

// Commits and merges at any moment leave the snapshot consistent.
func TestBucketCommitsMeanwhile(t *testing.T) {
	for at := range 12 {
		mem := prepared(t)
		o := newFakeObjects()
		o.fail = func(call int) error {
			if call == at+1 {
				change(t, mem, "ix", 1, 5)
				merge(t, mem, "ix")
			}
			return nil
		}
		b := newTestBucket(mem, o)
		_, err := b.Create(t.Context(), Source{Dir: "ix"}, "new", nil)
		check(t, err)
		o.fail = nil
		got := restoredFrom(t, b, mem, "new")
		if !slices.Equal(got, []int{1, 3, 4}) && !slices.Equal(got, []int{3, 4, 5}) {
			t.Errorf("a commit before call %d: %v", at+1, got)
		}
	}
}

func TestDelete(t *testing.T) {
	mem := prepared(t)
	s := New(mem, "store")
	_, err := s.Create(t.Context(), Source{Dir: "ix"}, "new", nil)
	check(t, err)
	lock, err := mem.Lock("store/LOCK")
	check(t, err)
	if _, err := s.Delete(t.Context(), "old"); !errors.Is(err, base.ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	check(t, lock.Close())
	if _, err := s.Delete(t.Context(), "none"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("none: %v", err)
	}
	_, err = s.Delete(t.Context(), "old")
	check(t, err)
	if got := restored(t, s, mem, "new"); !slices.Equal(got, []int{1, 3, 4}) {
		t.Errorf("new has %v", got)
	}
	freed, err := s.Delete(t.Context(), "new")
	check(t, err)
	left := slices.DeleteFunc(mem.Names(), func(name string) bool { return !strings.HasPrefix(name, "store/") || name == "store/LOCK" })
	if freed == 0 || len(left) > 0 {
		t.Errorf("%d bytes freed, left: %q", freed, left)
	}
}
