package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// removing calls remove after a check of the lock file with the number at; 0: never.
type removing struct {
	vfs.FS
	checks, at int
	remove     func() error
	err        error
}

func (r *removing) Identify(name string) (vfs.Identity, error) {
	i, err := r.FS.Identify(name)
	if filepath.Base(name) == lockName {
		if r.checks++; r.checks == r.at {
			r.err = r.remove()
		}
	}
	return i, err
}

// livePair is a live index with two segments, and a document that is not published.
func livePair(t *testing.T, ix *Index) (l *Live, third *inverter.Partials) {
	t.Helper()
	check(t, commitChange(t.Context(), ix, nil, nil))
	l, err := ix.Live()
	check(t, err)
	dir, err := l.TempDir()
	check(t, err)
	a, err := analysis.New(l.Schema().Analyzer)
	check(t, err)
	for seq := uint64(1); ; seq++ {
		b := inverter.NewBatch(inverter.Options{Schema: l.Schema(), FS: ix.fs, Dir: dir, MemoryBytes: 32 << 20}, a)
		t.Cleanup(func() { check(t, b.Close()) })
		check(t, b.AddVersion(&corpus.Document{ID: string('a' + rune(seq)), Text: "one"}, segment.Version{Seq: seq, Number: 1}))
		partials, err := b.Partials()
		check(t, err)
		if seq == 3 {
			return l, partials
		}
		_, err = l.Publish(t.Context(), partials.Sources(), partials.Err, nil, nil, 0, seq)
		check(t, err)
	}
}

// A folder that is removed or moved after it was found at its path is not made anew, and the error says that it is gone.
func TestRemovedAfterCheck(t *testing.T) {
	for what, do := range map[string]func(l *Live, p *inverter.Partials) error{
		"publish": func(l *Live, p *inverter.Partials) error {
			_, err := l.Publish(t.Context(), p.Sources(), p.Err, nil, nil, 0, 3)
			return err
		},
		"merge": func(l *Live, _ *inverter.Partials) error {
			_, err := l.Merge(t.Context(), nil, joinAll)
			return err
		},
		"temporary folder": func(l *Live, _ *inverter.Partials) error {
			_, err := l.TempDir()
			return err
		},
		"flush":      func(l *Live, _ *inverter.Partials) error { _, err := l.Flush(t.Context()); return err },
		"checkpoint": func(l *Live, _ *inverter.Partials) error { return l.Checkpoint(t.Context()) },
	} {
		for _, moved := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				for at := 1; ; at++ {
					dir := filepath.Join(t.TempDir(), "ix")
					r := &removing{FS: vfs.OS}
					ix, err := Create(r, dir, Options{})
					check(t, err)
					l, partials := livePair(t, ix)
					r.checks, r.at, r.remove = 0, at, func() error {
						if moved {
							return os.Rename(dir, dir+".moved")
						}
						return os.RemoveAll(dir)
					}
					err = do(l, partials)
					ended := r.checks < at
					check(t, r.err)
					if ended && err != nil || !ended && !errors.Is(err, base.ErrRemoved) {
						t.Errorf("check %d of %d, moved %t: %v", at, r.checks, moved, err)
					}
					r.at = 0
					if err := errors.Join(l.Close(), ix.Close()); err != nil {
						t.Errorf("check %d, moved %t: Close: %v", at, moved, err)
					}
					if _, err := os.Stat(dir); !ended && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("check %d, moved %t: the folder was made anew: %v", at, moved, err)
					}
					if ended {
						if at == 1 {
							t.Error("no check")
						}
						return
					}
				}
			})
		}
	}
}
