package griffin

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

// crashes are the processes of a history, each of which ends at a random operation of the disk. It has what a
// process must find after that. The methods of nil do nothing.
type crashes struct {
	rng  *rand.Rand
	disk *vfstest.Disk
	ctx  context.Context // of the process; a crash ends it
	sync Sync            // of the Writer

	durable    []written // live ones, of the last commit
	changes    []rankChange
	trying     []rankChange // of the Apply that a crash interrupted
	commits    []rankCommit // that crashes interrupted, and no later one is durable
	numDurable int          // fields of the last commit
	last       uint64       // the largest SeqNo that a Write ever had
	safe       uint64       // the one that a loss of power leaves
	must       uint64       // the one that the index must have now
	generation uint64       // that the process found; 0: there was no commit
}

// rankChange is a Write, acknowledged unless its seq is 0.
type rankChange struct {
	seq       uint64
	doc       written
	deleted   bool
	numFields int // that were declared
}

// rankCommit is an Index.Commit.
type rankCommit struct {
	after      uint64 // the generation before
	live       []written
	numChanges int // acknowledged before
}

func newCrashes(rng *rand.Rand) *crashes { return &crashes{rng: rng, disk: vfstest.NewDisk()} }

// start begins a process, which crashes when crashIn says.
func (c *crashes) start(t *testing.T, h *history) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	c.ctx = ctx
	c.disk.Change(func(f *vfstest.DiskFaults) { f.CrashAt, f.OnCrash = never, cancel })
	h.options.files = c.disk
}

const never = 1 << 40

// crashIn makes the n-th operation from now on fail, and all later ones.
func (c *crashes) crashIn(n int) {
	at := c.disk.NumOps() + n
	c.disk.Change(func(f *vfstest.DiskFaults) {
		if f.OnCrash != nil { // else it is over
			f.CrashAt = at
		}
	})
}

// plan chooses when the process crashes, and whether a sync fails before.
func (c *crashes) plan() {
	if c == nil {
		return
	}
	if c.rng.IntN(2) == 0 {
		c.crashIn(1 + c.rng.IntN([]int{20, 200, 1000}[c.rng.IntN(3)]))
	}
	if c.rng.IntN(12) == 0 {
		c.disk.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
	}
}

// planApply lets some calls of Apply crash.
func (c *crashes) planApply() {
	if c != nil && c.rng.IntN(16) == 0 {
		c.crashIn(1 + c.rng.IntN(3))
	}
}

// over reports whether the process has crashed.
func (c *crashes) over() bool { return c != nil && c.ctx.Err() != nil }

// hold prevents faults until resume, or the next plan.
func (c *crashes) hold() (resume func()) {
	if c == nil {
		return func() {}
	}
	var syncs, at int
	c.disk.Change(func(f *vfstest.DiskFaults) { at, syncs, f.FailSyncs = f.CrashAt, f.FailSyncs, 0 })
	left := max(at-c.disk.NumOps(), 1)
	c.crashIn(never)
	return func() {
		c.crashIn(left)
		c.disk.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = syncs })
	}
}

// writer sets options that a crash makes interesting.
func (c *crashes) writer(rng *rand.Rand, o *WriterOptions) {
	if c == nil {
		return
	}
	c.sync = []Sync{SyncRequest, SyncRequest, SyncAsync, SyncInterval}[rng.IntN(4)]
	o.Sync, o.SyncInterval = c.sync, time.Millisecond
	o.FlushBytes = []int64{1 << 10, 1 << 20}[rng.IntN(2)]
	o.RefreshInterval = []time.Duration{-1, time.Millisecond}[rng.IntN(2)]
}

// acknowledged notes a Write.
func (c *crashes) acknowledged(w rankChange) {
	if c == nil {
		return
	}
	c.changes = append(c.changes, w)
	c.last = max(c.last, w.seq)
	if c.must = max(c.must, w.seq); c.sync == SyncRequest {
		c.safe = c.must
	}
}

func (c *crashes) interrupted(writes []rankChange) {
	if c != nil {
		c.trying = writes
	}
}

// commit notes an Index.Commit that begins.
func (c *crashes) commit(t *testing.T, h *history) {
	if c != nil {
		c.commits = append(c.commits, rankCommit{generationOf(t, h.ix.ix), h.live, len(c.changes)})
	}
}

// committed notes that all writes are durable.
func (c *crashes) committed(h *history) {
	if c != nil {
		c.durable, c.numDurable, c.changes, c.commits, c.safe = h.live, len(h.fields), nil, nil, c.must
	}
}

func generationOf(t *testing.T, ix *index.Index) uint64 {
	t.Helper()
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	return s.Generation
}

// ended reports whether the process is over, with the error err or nil. Any other error fails the test.
func (h *history) ended(t *testing.T, err error) bool {
	t.Helper()
	c := h.crashes
	switch {
	case c.over() && !errors.Is(err, ErrCorrupt):
		return true
	case err == nil:
		return false
	case c != nil && c.disk.NumFailedSyncs() > 0 && (errors.Is(err, syscall.EIO) || errors.Is(err, wal.ErrFailed) || errors.Is(err, index.ErrSyncFailed) || errors.Is(err, ErrDown)):
		h.counts.syncs.Add(1)
		return true
	}
	t.Fatal(err)
	return false
}

// end ends the process, and leaves the disk as the next one finds it.
func (c *crashes) end(t *testing.T, h *history) {
	t.Helper()
	if c == nil {
		return
	}
	c.crashIn(0)
	if h.w != nil {
		_ = h.w.Close(c.ctx)
		h.w = nil
	}
	if h.ix != nil {
		_ = h.ix.Close()
		h.ix = nil
	}
	if n := c.disk.NumOpen(); n != 0 {
		t.Fatalf("%d files are open", n)
	}
}

// recover ends the process, and opens the index in others until one does not crash. It compares what that finds.
func (h *history) recover(t *testing.T) {
	t.Helper()
	c := h.crashes
	for {
		c.end(t, h)
		h.counts.crashes.Add(1)
		if c.rng.IntN(3) > 0 {
			c.disk, c.must = c.disk.AfterCrash(c.rng), c.safe
		} else {
			c.disk = c.disk.AfterKill()
		}
		c.start(t, h)
		last := c.found(t, h.dir)
		if last < c.must {
			t.Fatalf("the last record is %d, want %d at least", last, c.must)
		}
		c.must = last
		c.drop(last)
		if c.rng.IntN(2) == 0 {
			c.crashIn(1 + c.rng.IntN([]int{20, 200}[c.rng.IntN(2)]))
		}
		if err := h.reopen(t); h.ended(t, err) {
			h.counts.again.Add(1)
			continue
		}
		c.hold()
		if !c.over() {
			h.restore(t, last)
			h.recoveredImpacts(t)
			if c.safe = last; h.w == nil { // Recover commits
				c.committed(h)
			}
			if err := h.check(t); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// found reads the numbers of the commit and of the last record, without a change.
func (c *crashes) found(t *testing.T, dir string) (last uint64) {
	t.Helper()
	c.generation = 0
	ix, err := index.Open(c.disk, dir)
	if errors.Is(err, ErrNotIndex) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	last = ix.Seq()
	_, err = wal.Scan(c.disk, filepath.Join(dir, index.LogName), 0, func(e wal.Entry) error {
		last = max(last, uint64(e.Seq))
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	c.generation = generationOf(t, ix)
	return last
}

// reopen opens the index, with or without a Writer.
func (h *history) reopen(t *testing.T) (err error) {
	h.ix, err = OpenOrCreate(h.dir, h.settings, h.options)
	if err != nil {
		return err
	}
	if h.rng.IntN(3) == 0 {
		return living.Recover(h.context(t), h.options.files, h.ix.ix)
	}
	h.w, err = h.ix.Writer(h.context(t), h.writerOptions())
	return err
}

// drop forgets what a crash has lost: commits from the generation on, and writes after a record.
func (c *crashes) drop(last uint64) {
	if lost := slices.IndexFunc(c.commits, func(commit rankCommit) bool { return commit.after >= c.generation }); lost >= 0 {
		c.commits = c.commits[:lost]
	}
	if lost := slices.IndexFunc(c.changes, func(w rankChange) bool { return w.seq > last }); lost >= 0 {
		c.changes = c.changes[:lost]
	}
}

// restore computes the documents and fields that must be there. The Apply that was interrupted is there as a whole or not at
// all.
func (h *history) restore(t *testing.T, last uint64) {
	t.Helper()
	c := h.crashes
	h.live = c.durable
	changes := c.changes
	for _, commit := range c.commits {
		h.live, changes = commit.live, c.changes[commit.numChanges:]
	}
	numFields := c.numDurable
	for _, w := range changes {
		h.redo(w)
		numFields = max(numFields, w.numFields)
	}
	declared := slices.DeleteFunc(slices.Clone(h.ix.ix.Options().Fields), func(name string) bool { return name == "title" })
	if len(declared) < numFields || len(declared) > len(h.fields) || !slices.Equal(declared, h.fields[:len(declared)]) {
		t.Fatalf("fields %q after recovery, want %d at least of %q", declared, numFields, h.fields)
	}
	h.fields = declared
	h.tried(t, last)
	h.live = slices.Clone(h.live)
	for i := range h.live {
		h.live[i].Document = withFields(h.live[i].Document, h.fields)
	}
}

func (h *history) redo(w rankChange) {
	h.live = without(h.live, w.doc.ID)
	if !w.deleted {
		h.live = append(h.live, w.doc)
	}
}

// tried adds the interrupted Apply, if its last Write of any document is there.
func (h *history) tried(t *testing.T, last uint64) {
	t.Helper()
	c := h.crashes
	trying := c.trying
	c.trying = nil
	there := false
	for i, w := range trying {
		if slices.ContainsFunc(trying[i+1:], func(later rankChange) bool { return later.doc.ID == w.doc.ID }) {
			continue
		}
		v, err := h.ix.versioned(t.Context(), w.doc.ID)
		switch {
		case errors.Is(err, ErrNotFound):
			there = there || w.deleted && slices.ContainsFunc(h.live, func(d written) bool { return d.ID == w.doc.ID })
		case err != nil:
			t.Fatal(err)
		default:
			there = there || v.SeqNo > c.last
		}
	}
	if !there {
		return
	}
	h.counts.kept.Add(1)
	for i, w := range trying {
		w.seq = last - uint64(len(trying)-1-i)
		w.doc.seqNo, w.doc.version = w.seq, 0
		c.changes = append(c.changes, w)
		h.redo(w)
	}
	c.last = max(c.last, last)
}
