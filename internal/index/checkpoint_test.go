package index

import (
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// reopenLive opens the index as another process, which goes on with the documents of the record that
// Adopt returns.
func (m *liveModel) reopenLive(fsys vfs.FS, last uint64, docsAt map[uint64][]corpus.Document) (ix *Index) {
	m.t.Helper()
	ix, err := Open(fsys, "ix")
	check(m.t, err)
	m.live, err = ix.Live()
	check(m.t, err)
	m.seq, err = m.live.Adopt(m.t.Context(), last)
	check(m.t, err)
	docs, ok := docsAt[m.seq]
	if !ok {
		m.t.Fatalf("record %d was not published", m.seq)
	}
	m.docs = slices.Clone(docs)
	m.dir, err = m.live.TempDir()
	check(m.t, err)
	sameLive(m.t, ix, m.docs)
	checkStatistics(m.t, ix)
	return ix
}

// After a kill, a writer goes on from the checkpoint; after a power failure, from it or from the last
// commit. The documents are as of the record that Adopt returns.
func TestCheckpointHistories(t *testing.T) {
	adopted, dropped := 0, 0
	for seed := range uint64(8) {
		disk := vfstest.NewDisk()
		ix, err := Create(disk, "ix", Options{Analyzer: "whitespace"})
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, nil))
		m := newLiveModel(t, ix, seed)
		docsAt := map[uint64][]corpus.Document{0: nil}
		flushed, checkpoint := uint64(0), uint64(0)
		saved := map[uint64]bool{} // checkpoints: a loss of power can restore a former one
		for range 80 {
			switch m.rng.IntN(9) {
			case 0:
				_, err := m.live.Merge(t.Context(), nil, anyNeighbours(m.rng))
				check(t, err)
			case 1:
				flushed, err = m.live.Flush(t.Context())
				check(t, err)
			case 2, 3:
				check(t, m.live.Checkpoint(m.t.Context()))
				checkpoint = m.seq
				saved[checkpoint] = true
			case 4:
				last, killed := m.seq+uint64(m.rng.IntN(3)), m.rng.IntN(2) == 0
				if m.rng.IntN(4) == 0 { // the log has lost its end
					last = flushed + m.rng.Uint64N(m.seq-flushed+1)
				}
				before := disk
				if disk = before.AfterKill(); !killed {
					disk = before.AfterCrash(m.rng)
				}
				old := m.live
				ix = m.reopenLive(disk, last, docsAt)
				check(t, old.Close())
				newest := max(checkpoint, flushed)
				switch {
				case m.seq > flushed && (m.seq == newest || !killed && saved[m.seq]):
					adopted++
				case m.seq == flushed:
					dropped++
				default:
					t.Fatalf("record %d is visible after commit %d and checkpoint %d", m.seq, flushed, checkpoint)
				}
				if killed && newest <= last && m.seq != newest || m.seq > last {
					t.Fatalf("record %d is visible, the checkpoint has %d, and the log ends at %d", m.seq, newest, last)
				}
				checkpoint = max(m.seq, flushed)
				maps.DeleteFunc(saved, func(seq uint64, _ bool) bool { return seq > checkpoint })
				saved[checkpoint] = true
			default:
				m.publish()
				docsAt[m.seq] = slices.Clone(m.docs)
			}
			sameLive(t, ix, m.docs)
		}
		_, err = m.live.Flush(t.Context())
		check(t, err)
		check(t, m.live.Close())
		sameLive(t, ix, m.docs)
		s, err := ix.Snapshot()
		check(t, err)
		check(t, s.Verify(t.Context(), nil))
		s.Release()
		if left, err := (&session{ix: ix}).leftovers(); err != nil || len(left) > 0 {
			t.Errorf("files %q are left, %v", left, err)
		}
		check(t, ix.Close())
	}
	if adopted < 10 || dropped < 10 {
		t.Errorf("%d checkpoints were adopted, %d dropped", adopted, dropped)
	}
}

// withCheckpoint returns a folder with a commit, a newer checkpoint, and what their documents are.
func withCheckpoint(t *testing.T) (mem *vfstest.Mem, commit, checkpoint uint64, docsAt map[uint64][]corpus.Document) {
	t.Helper()
	mem = vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 1)
	docsAt = map[uint64][]corpus.Document{}
	publish := func() uint64 {
		for range 4 {
			m.publish()
		}
		docsAt[m.seq] = slices.Clone(m.docs)
		return m.seq
	}
	commit = publish()
	_, err = m.live.Flush(t.Context())
	check(t, err)
	checkpoint = publish()
	check(t, m.live.Checkpoint(m.t.Context()))
	killed := mem.Clone()
	check(t, m.live.Close())
	check(t, ix.Close())
	return killed, commit, checkpoint, docsAt
}

// Damage anywhere in files of the checkpoint that the commit has not makes it unusable, once and for all.
func TestDamagedCheckpoint(t *testing.T) {
	whole, commit, checkpoint, docsAt := withCheckpoint(t)
	m := &liveModel{t: t, rng: rand.New(rand.NewPCG(1, 2))}
	ix := m.reopenLive(whole.Clone(), checkpoint, docsAt)
	if m.seq != checkpoint {
		t.Fatalf("record %d of the whole checkpoint is visible, want %d", m.seq, checkpoint)
	}
	committed := m.live.durable.names()
	check(t, errors.Join(m.live.Close(), ix.Close()))
	damages, files := 0, 0
	for _, name := range whole.Names() {
		inside, ok := strings.CutPrefix(name, "ix/")
		first, _, _ := strings.Cut(inside, "/")
		if !ok || committed[first] || first == tempName {
			continue
		}
		files++
		data := whole.Get(name)
		for range 3 {
			damaged := whole.Clone()
			switch m.rng.IntN(4) {
			case 0:
				check(t, damaged.Remove(filepath.FromSlash(name)))
			case 1:
				damaged.Set(name, data[:m.rng.IntN(len(data))])
			default:
				changed := slices.Clone(data)
				changed[m.rng.IntN(len(changed))] ^= 1 << m.rng.IntN(8)
				damaged.Set(name, changed)
			}
			ix := m.reopenLive(damaged, checkpoint, docsAt)
			if m.seq != commit {
				t.Errorf("%s is damaged, and record %d is visible, want %d", name, m.seq, commit)
			}
			if slices.Contains(damaged.Names(), "ix/"+CheckpointName) {
				t.Errorf("%s is damaged, and the checkpoint is left", name)
			}
			m.publish()
			check(t, errors.Join(m.live.Close(), ix.Close()))
			damages++
		}
	}
	if files < 8 {
		t.Errorf("only %d files belong to the checkpoint alone", files)
	}
}

// A checkpoint that is newer than the log is removed, and durably so, before there are later records.
func TestDropCheckpoint(t *testing.T) {
	mem, commit, checkpoint, docsAt := withCheckpoint(t)
	for at := 0; ; at++ {
		clone := mem.Clone()
		faulty := vfstest.NewFaulty(clone, vfstest.Plan{FailAt: at, Once: true})
		err := func() (err error) {
			ix, err := Open(faulty, "ix")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, ix.Close()) }()
			l, err := ix.Live()
			if err != nil {
				return err
			}
			seq, err := l.Adopt(t.Context(), checkpoint-1)
			if err != nil {
				return errors.Join(err, l.Close())
			}
			if seq != commit || slices.Contains(clone.Names(), "ix/"+CheckpointName) {
				t.Errorf("operation %d fails: record %d is visible, want %d; files %q", at, seq, commit, clone.Names())
			}
			return l.Close()
		}()
		ops := faulty.Operations()
		removed := slices.Index(ops, "remove ix/"+CheckpointName)
		if err == nil && (removed < 0 || !slices.Contains(ops[removed:], "sync ix")) {
			t.Errorf("operation %d fails: operations %q", at, ops)
		}
		if err != nil && !errors.Is(err, vfstest.ErrInjected) {
			t.Errorf("operation %d fails: %v", at, err)
		}
		m := &liveModel{t: t, rng: rand.New(rand.NewPCG(1, 2))}
		ix := m.reopenLive(clone, checkpoint-1, docsAt)
		if m.seq != commit {
			t.Errorf("after operation %d has failed, record %d is visible, want %d", at, m.seq, commit)
		}
		check(t, errors.Join(m.live.Close(), ix.Close()))
		if at > len(ops) {
			return
		}
	}
}
