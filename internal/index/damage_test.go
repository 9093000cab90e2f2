package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// damagedIndex has two segments, the first with a deleted document, and impact-ordered lists.
func damagedIndex(t *testing.T) (mem *vfstest.Mem, docs []corpus.Document) {
	t.Helper()
	mem, docs = vfstest.NewMem(), randomDocs(110, 440, false)
	for i := range docs {
		docs[i].ID += strings.Repeat("-", 400) // several pages, which are checked one by one
	}
	ix, err := Create(mem, "ix", Options{Positions: true})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, docs[:400]))
	check(t, commitChange(t.Context(), ix, docs[:1], docs[400:]))
	_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, errors.Join(err, ix.Close()))
	return mem, docs
}

// Bytes of each file are changed, one at a time. An operation fails with ErrCorrupt and leaves
// the index as it was, or gives a sound index. Verify finds all damage.
func TestDamagedFiles(t *testing.T) {
	sampletest.SkipRace(t)
	t.Parallel()
	whole, docs := damagedIndex(t)
	operations := map[string]func(ix *Index) error{
		"merge": func(ix *Index) error {
			_, err := ix.Merge(t.Context(), MergeOptions{})
			return err
		},
		"impacts": func(ix *Index) error {
			_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
			return err
		},
		"replace": func(ix *Index) error { return commitChange(t.Context(), ix, docs[2:3], docs[409:410]) },
		"build": func(ix *Index) error {
			_, err := ix.Build(t.Context(), &memoryReader{docs: docs[3:4], batch: 1}, BuildOptions{Threads: 1})
			return err
		},
	}
	failed := map[string]map[string]bool{}
	for name := range operations {
		failed[name] = map[string]bool{}
	}
	for _, file := range whole.Names() {
		if filepath.Base(file) == lockName {
			continue
		}
		size := len(whole.Get(file))
		for at := 0; at < size; at += 1 + size/sampletest.UnderRace(9, 3) {
			mem := whole.Clone()
			data := mem.Get(file)
			data[at] ^= 0x10
			mem.Set(file, data)
			ix, err := Open(mem, "ix")
			if err != nil {
				if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
					t.Errorf("byte %d of %s: Open: %v", at, file, err)
				}
				continue
			}
			s, err := ix.Snapshot()
			check(t, err)
			if err := s.Verify(t.Context(), nil); !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Errorf("byte %d of %s: Verify: %v", at, file, err)
			}
			s.Release()
			check(t, ix.Close())
			for name, operation := range operations {
				what := fmt.Sprintf("%s with byte %d of %s changed", name, at, file)
				mem := mem.Clone()
				ix, err := Open(mem, "ix")
				check(t, err)
				generation, names := ix.currentManifest().Generation, mem.Names()
				err = operation(ix)
				if err == nil {
					check(t, ix.Close())
					continue
				}
				failed[name][filepath.Base(file)] = true
				if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
					t.Errorf("%s: error %v, want ErrCorrupt", what, err)
				}
				if ix.currentManifest().Generation != generation || !slices.Equal(mem.Names(), names) {
					t.Errorf("%s: generation %d, files %q", what, ix.currentManifest().Generation, mem.Names())
				}
				check(t, ix.Close())
			}
		}
	}
	for name, want := range map[string]string{
		"merge":   "ids lengths position postings records",
		"impacts": "ids lengths position postings records",
		"replace": "ids lengths postings records",
		"build":   "ids lengths postings records",
	} {
		var files []string
		for file := range failed[name] {
			files = append(files, file)
		}
		slices.Sort(files)
		if got := strings.Join(files, " "); got != want && !sampletest.Race {
			t.Errorf("%s fails with damage in %s, want %s", name, got, want)
		}
	}
}

// Verify names each damaged segment.
func TestVerifyNamesSegments(t *testing.T) {
	mem, _ := damagedIndex(t)
	for _, name := range []string{"ix/seg-000001/lengths", "ix/seg-000002/lengths"} {
		data := mem.Get(name)
		data[len(data)/3] ^= 1
		mem.Set(name, data)
	}
	ix, err := Open(mem, "ix")
	check(t, err)
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	err = s.Verify(t.Context(), nil)
	for _, name := range []string{"segment seg-000001", "segment seg-000002"} {
		if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}

// changeManifest writes a changed manifest.
func changeManifest(t *testing.T, mem *vfstest.Mem, change func(m *manifest)) {
	t.Helper()
	m, err := loadManifest(mem, "ix")
	check(t, err)
	m = m.clone()
	change(m)
	_, err = m.save(mem, "ix")
	check(t, err)
}

// An id that is live in two segments is damage.
func TestVerifyUniqueIDs(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	docs := randomDocs(111, 6, false)
	check(t, commitChange(t.Context(), ix, nil, docs))
	check(t, commitChange(t.Context(), ix, nil, docs[3:4]))
	check(t, ix.Close())
	changeManifest(t, mem, func(m *manifest) {
		ms := &m.Segments[0]
		ms.Live, ms.LiveSum, ms.NumLive = "", 0, ms.NumDocs
	})
	ix, err = Open(mem, "ix")
	check(t, err)
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	want := fmt.Sprintf("segment seg-000001: document 3: id %q is live in segment seg-000002 too", docs[3].ID)
	if err := s.Verify(t.Context(), nil); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.verifyIDs(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	if err := s.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// The list of live documents must be the manifest's.
func TestLiveContradictsManifest(t *testing.T) {
	whole, _ := damagedIndex(t)
	for name, bits := range map[string]func() *segment.Bitmap{
		"another number": func() *segment.Bitmap { b := segment.NewBitmap(400); b.Set(1); return b },
		"another length": func() *segment.Bitmap {
			b := segment.NewBitmap(401)
			for i := range 399 {
				b.Set(i)
			}
			return b
		},
		"of another index": nil,
	} {
		mem := whole.Clone()
		changeManifest(t, mem, func(m *manifest) {
			ms := &m.Segments[0]
			if bits == nil {
				ms.LiveSum++
				return
			}
			ms.LiveSum = saveVersion1(t, mem, ms.Live, bits())
		})
		if _, err := Open(mem, "ix"); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v, want ErrCorrupt", name, err)
		}
	}
}
