package living

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

// owner writes to ids of its own, one Apply after the other, and knows their expected states.
type owner struct {
	model
	name   string
	rng    *rand.Rand
	writes []ownWrite // acknowledged, in the order of the log
	trying []Op       // of the Apply that the crash interrupted
}

type ownWrite struct {
	id    string
	state state
}

func newOwner(i int, seed uint64) *owner {
	return &owner{model: model{states: map[string]state{}}, name: fmt.Sprintf("%c", 'a'+i), rng: rand.New(rand.NewPCG(seed, uint64(i)))}
}

// randomOps are of ids of the owner.
func (o *owner) randomOps() []Op {
	ops := make([]Op, 1+o.rng.IntN(1+o.rng.IntN(20)))
	for i := range ops {
		op := randomOp(o.rng, &model{})
		op.Doc.ID = o.name + op.Doc.ID
		op.IfSeq = 0
		if op.Kind != Create && o.rng.IntN(4) == 0 {
			op.IfSeq = o.states[op.Doc.ID].version.Seq + uint64(o.rng.IntN(2))
		}
		if op.Kind != Delete && o.rng.IntN(4) == 0 {
			name := fmt.Sprintf("f%d", o.rng.IntN(6))
			g := growth{rng: o.rng, typed: true}
			op.Fields, op.Doc.Extra = []mapping.Field{typedField(name)}, []corpus.Field{{Name: name, Value: g.value(name)}}
		}
		ops[i] = op
	}
	return ops
}

// write applies until the crash, or n times.
func (o *owner) write(t testing.TB, s *Store, n int) {
	for range n {
		ops := o.randomOps()
		results, err := s.Apply(t.Context(), ops)
		if err != nil {
			if !errors.Is(err, vfstest.ErrCrashed) && !errors.Is(err, wal.ErrFailed) && !errors.Is(err, ErrBusy) {
				t.Errorf("Apply: %v", err)
			}
			if !errors.Is(err, ErrBusy) {
				o.trying = ops
			}
			return
		}
		for i, r := range results {
			if errors.Is(r.Err, vfstest.ErrCrashed) { // a lookup failed
				continue
			}
			want, ok := o.apply(ops[i], r.Version.Seq)
			id := ops[i].Doc.ID
			if r.Outcome != want || ok != (r.Err == nil) || !ok && !errors.Is(r.Err, ErrConflict) || ok && r.Version != o.states[id].version {
				t.Errorf("operation %+v: %+v, want outcome %d, version %+v", ops[i], r, want, o.states[id].version)
				return
			}
			if ok {
				o.writes = append(o.writes, ownWrite{id, o.states[id]})
			}
		}
	}
}

// acknowledged is the last acknowledged record.
func (o *owner) acknowledged() uint64 {
	if n := len(o.writes); n > 0 {
		return o.writes[n-1].state.version.Seq
	}
	return 0
}

// recovered compares the state that a new process finds, which opened the commit and whose log ends at
// last, with the expected state.
func (o *owner) recovered(t testing.TB, s *Store, commit, last uint64) {
	t.Helper()
	if o.acknowledged() > last { // with all later ones, also of the Apply without an answer
		o.trying = nil
		for o.acknowledged() > last {
			o.writes = o.writes[:len(o.writes)-1]
		}
		o.states = map[string]state{}
		for _, w := range o.writes {
			o.states[w.id] = w.state
		}
	}
	if first := o.interrupted(t, s); first != 0 {
		seq := first
		for _, op := range o.trying {
			if _, ok := o.apply(op, seq); ok {
				o.writes = append(o.writes, ownWrite{op.Doc.ID, o.states[op.Doc.ID]})
				seq++
			}
		}
	}
	o.trying = nil
	o.forget(commit)
	for id, want := range o.states {
		got, _, err := s.state(id, nil)
		check(t, err)
		if got.version != want.version || (got.doc == nil) != (want.doc == nil) {
			t.Fatalf("%s: %+v after recovery, want %+v", id, got, want)
		}
	}
}

// interrupted returns the number of the first record of the Apply without an answer, if it is in the
// log; else 0.
func (o *owner) interrupted(t testing.TB, s *Store) (first uint64) {
	t.Helper()
	const unknown = 1 << 40
	then := model{states: maps.Clone(o.states)}
	seq := uint64(unknown)
	for _, op := range o.trying {
		if _, ok := then.apply(op, seq); ok {
			seq++
		}
	}
	for id, st := range then.states {
		if st.version.Seq < unknown {
			continue
		}
		got, _, err := s.state(id, nil)
		check(t, err)
		if got.version.Seq > o.states[id].version.Seq {
			return got.version.Seq - (st.version.Seq - unknown)
		}
	}
	return 0
}

// crashes is a history of a store on a disk, over several processes.
type crashes struct {
	rng     *rand.Rand
	disk    *vfstest.Disk
	owners  []*owner
	opts    Options
	safe    uint64 // the last record that is durable
	must    uint64 // the last record that must be there now
	writes  int    // acknowledged
	adopted int    // processes that found a checkpoint
	// Counts of the processes that ended, and of those whose index was compared with a new one.
	ended, compared int
	store           *Store // open
}

// ends ends a history that may have failed.
func (c *crashes) ends(t testing.TB, seed uint64) {
	if !t.Failed() {
		return
	}
	t.Logf("seed %d, %+v", seed, c.opts)
	if c.store != nil { // no goroutine may be left
		_ = c.store.Close(t.Context())
	}
}

// crashIn makes the n-th operation from now on fail, and all later ones, and returns a context that
// ends then, because a store repeats what fails.
func (c *crashes) crashIn(t testing.TB, n int) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	at := c.disk.NumOps() + n
	c.disk.Change(func(f *vfstest.DiskFaults) { f.CrashAt, f.OnCrash = at, cancel })
	return ctx
}

const never = 1 << 40

// process opens the store, writes, and crashes.
func (c *crashes) process(t testing.TB) {
	t.Helper()
	opening := 1 + c.rng.IntN(400)
	if c.rng.IntN(2) == 0 {
		opening = never
	}
	c.run(t, opening, func(s *Store, _ int) { c.work(t, s) })
}

// run is a process that crashes at the given operation while it opens the store, unless it takes fewer. It compares what it
// finds. Then work gets the number of operations that are left. The result is the number of all, without the comparison's.
func (c *crashes) run(t testing.TB, opening int, work func(s *Store, left int)) (ops int) {
	t.Helper()
	begin := c.disk.NumOps()
	open := c.crashIn(t, opening)
	ix, err := index.Open(c.disk, "ix")
	var s *Store
	var commit uint64
	if err == nil {
		commit = ix.Seq()
		s, err = Open(open, c.disk, ix, c.opts)
		if err != nil {
			check(t, ix.Close())
		}
	}
	if err != nil {
		if open.Err() == nil || !errors.Is(err, vfstest.ErrCrashed) && !errors.Is(err, context.Canceled) {
			t.Fatalf("open: %v", err)
		}
		c.end(t, nil)
		return opening
	}
	opened := c.disk.NumOps() - begin
	c.crashIn(t, never)
	c.store = s
	c.check(t, s, ix, commit)
	begin = c.disk.NumOps()
	work(s, max(opening-opened, 1))
	_ = s.Close(open)
	c.store = nil
	check(t, ix.Close())
	ops = opened + c.disk.NumOps() - begin
	c.end(t, s)
	return ops
}

// work writes until the disk fails. Before that, syncs can fail, which drops unsynced writes.
func (c *crashes) work(t testing.TB, s *Store) {
	ctx := c.crashIn(t, 1+c.rng.IntN([]int{50, 500, 3000}[c.rng.IntN(3)]))
	syncs := c.rng.IntN(4)
	c.disk.Change(func(f *vfstest.DiskFaults) {
		switch syncs {
		case 0:
			f.FailSyncs = 1 + c.rng.IntN(2)
		case 1:
			f.FailDirSyncs = 1
		}
	})
	var group sync.WaitGroup
	for _, o := range c.owners {
		n := 1 + c.rng.IntN(12)
		group.Go(func() { o.write(t, s, n) })
	}
	for range c.rng.IntN(3) {
		rng := rand.New(rand.NewPCG(c.rng.Uint64(), 1))
		group.Go(func() {
			for range 1 + rng.IntN(4) {
				var err error
				switch rng.IntN(3) {
				case 0:
					err = s.Refresh(ctx)
				case 1:
					err = s.Flush(ctx)
				default:
					err = s.Merge(ctx, 1+rng.IntN(3))
				}
				if err != nil && ctx.Err() == nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("refresh, flush or merge: %v", err)
				}
			}
		})
	}
	group.Wait()
}

// end ends the process, or the machine.
func (c *crashes) end(t testing.TB, s *Store) {
	t.Helper()
	if n := c.disk.NumOpen(); n != 0 {
		t.Fatalf("%d files are open", n)
	}
	c.ended++
	power := c.rng.IntN(3) > 0
	if s != nil {
		for _, o := range c.owners {
			if c.must = max(c.must, o.acknowledged()); c.opts.Sync == wal.ModeRequest {
				c.safe = max(c.safe, o.acknowledged())
			}
		}
		s.mu.Lock()
		c.safe = max(c.safe, s.flushed, min(uint64(s.log.Stats().Durable), c.must)) // a new term begins above
		s.mu.Unlock()
	}
	if power {
		c.disk, c.must = c.disk.AfterCrash(c.rng), c.safe
	} else {
		c.disk = c.disk.AfterKill()
	}
}

// check compares a store that was just opened, with a commit, with the expected state.
func (c *crashes) check(t testing.TB, s *Store, ix *index.Index, commit uint64) {
	t.Helper()
	last := max(uint64(s.log.Found()), commit)
	if last < c.must {
		t.Fatalf("the log ends at %d, want %d at least", last, c.must)
	}
	c.must = last
	s.mu.Lock()
	if s.adopted > s.flushed {
		c.adopted++
	}
	s.mu.Unlock()
	all := &model{states: map[string]state{}}
	for _, o := range c.owners {
		o.recovered(t, s, commit, last)
		c.writes += len(o.writes)
		maps.Copy(all.states, o.states)
	}
	all.same(t, ix)
	all.sameRanking(t, c.rng, ix)
	c.compared++
}

// Processes write, refresh, flush and merge at the same time, and are killed, or the machine loses
// power, at random operations of the file system, also while they recover from the crash before. Then
// each acknowledged write is there once with its version, an interrupted one as a whole or not at all,
// and the ranking is as in a new index. With asynchronous syncs, a power failure can lose the end of
// the log. GRIFFIN_HISTORIES sets the number of histories, GRIFFIN_FIRST_HISTORY the seed of the first.
func TestCrashes(t *testing.T) {
	var checked, adopted, ended, compared int
	first, end := sampletest.Histories(t, 40)
	seed := first
	for ; seed < end || adopted == 0 && seed < first+5*(end-first); seed++ { // few histories may have no checkpoint in time
		bubble(t, func(t *testing.T) {
			c := crashHistory(t, seed)
			checked += c.writes
			adopted += c.adopted
			ended += c.ended
			compared += c.compared
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("summary: %d histories, %d crashes, %d comparisons with a new index, %d acknowledged writes were checked, %d checkpoints were adopted",
		seed-first, ended, compared, checked, adopted)
	if checked == 0 || adopted == 0 {
		t.Error("nothing was written, or no checkpoint was adopted")
	}
}

// anyNeighbours chooses random ranges of segments in half of its calls, which come from one goroutine at a time.
func anyNeighbours(rng *rand.Rand) func(sizes []index.SegmentSize, limit int) (from, to int) {
	left := 50 // merges
	return func(sizes []index.SegmentSize, limit int) (from, to int) {
		if len(sizes) == 0 || left == 0 || rng.IntN(2) == 0 {
			return 0, 0
		}
		from = rng.IntN(len(sizes))
		to = from + 1 + rng.IntN(min(limit, len(sizes)-from))
		if slices.ContainsFunc(sizes[from:to], func(s index.SegmentSize) bool { return s.Busy }) {
			return 0, 0
		}
		left--
		return from, to
	}
}

func crashHistory(t *testing.T, seed uint64) *crashes {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	c := &crashes{rng: rng, disk: vfstest.NewDisk(), opts: Options{
		Sync: []wal.Mode{wal.ModeRequest, wal.ModeRequest, wal.ModeAsync, wal.ModeInterval}[seed%4], SyncInterval: time.Millisecond,
		RefreshInterval: []time.Duration{-1, time.Millisecond, 5 * time.Millisecond}[rng.IntN(3)],
		MemoryBytes:     []int64{8 << 10, 64 << 10, 1 << 20}[rng.IntN(3)],
		FlushBytes:      []int64{4 << 10, 1 << 20}[rng.IntN(2)],
		CheckpointBytes: []int64{1, 2 << 10, 1 << 30}[rng.IntN(3)],
		MaxSegments:     20,
		MaxWait:         time.Minute,
	}}
	if seed%2 == 1 { // checkpoints are often ahead of the commit
		c.opts.RefreshInterval, c.opts.FlushBytes, c.opts.CheckpointBytes = time.Millisecond, 1<<20, 1
	}
	defer c.ends(t, seed)
	defer func(before int64) { replayBytes = before }(replayBytes)
	replayBytes = []int64{2 << 10, 16 << 10, replayBytes}[rng.IntN(3)]
	for i := range 1 + rng.IntN(3) {
		c.owners = append(c.owners, newOwner(i, seed))
	}
	if rng.IntN(2) == 0 {
		c.opts.Neighbours = anyNeighbours(rand.New(rand.NewPCG(seed, 18)))
	}
	check(t, createWith(t, c.disk, "ix", index.Options{
		Analyzer: "whitespace", Positions: rng.IntN(4) > 0, Codec: codec.Names()[rng.IntN(len(codec.Names()))], TitleWeight: rng.IntN(3),
	}).Close())
	modes := rng.IntN(3) == 0
	for range 2 + rng.IntN(6) {
		if modes {
			c.opts.Sync = []wal.Mode{wal.ModeRequest, wal.ModeAsync, wal.ModeInterval}[rng.IntN(3)]
		}
		c.process(t)
	}
	c.last(t)
	return c
}

// last compares the index that the processes leave, and verifies it.
func (c *crashes) last(t testing.TB) {
	t.Helper()
	c.crashIn(t, never)
	ix, err := index.Open(c.disk, "ix")
	check(t, err)
	commit := ix.Seq()
	s := open(t, c.disk, ix, c.opts)
	c.store = s
	c.check(t, s, ix, commit)
	c.store = nil
	check(t, s.Close(t.Context()))
	snapshot, err := ix.Snapshot()
	check(t, err)
	check(t, snapshot.Verify(t.Context(), nil))
	snapshot.Release()
	check(t, ix.Close())
}

// Two short processes crash at any pair of operations: the second one meets all that the first one leaves half done, and a
// loss of power all that the two did. TestCrashes seldom meets a given pair.
func TestTwoCrashes(t *testing.T) {
	modes := []wal.Mode{wal.ModeRequest, wal.ModeAsync}
	var pairs [][4]int // modes and operations
	most := 0
	for i := range 4 {
		bubble(t, func(t *testing.T) {
			c := newCrashes(t, rand.New(rand.NewPCG(1, 1)), 1)
			for _, mode := range []int{i & 1, i >> 1} {
				most = max(most, c.short(t, modes[mode], never))
			}
		})
		for first := range most {
			for second := range most {
				pairs = append(pairs, [4]int{i & 1, i >> 1, 1 + first, 1 + second})
			}
		}
	}
	for seed, p := range sampletest.Some(t, sampletest.UnderRace(300, 30), pairs) {
		bubble(t, func(t *testing.T) {
			c := newCrashes(t, rand.New(rand.NewPCG(uint64(seed), 23)), 1)
			defer c.ends(t, uint64(seed))
			c.short(t, modes[p[0]], p[2])
			c.short(t, modes[p[1]], p[3])
			c.last(t)
		})
		if t.Failed() {
			t.Fatalf("modes %d and %d, crashes at the operations %d and %d", p[0], p[1], p[2], p[3])
		}
	}
}

// newCrashes makes an index.
func newCrashes(t testing.TB, rng *rand.Rand, owners int) *crashes {
	c := &crashes{rng: rng, disk: vfstest.NewDisk(), opts: Options{RefreshInterval: -1, MaxWait: time.Minute}}
	for i := range owners {
		c.owners = append(c.owners, newOwner(i, rng.Uint64()))
	}
	check(t, create(t, c.disk, "ix").Close())
	return c
}

// short opens the store, writes twice with a commit between, and closes, or crashes at operation n. It returns the number
// of operations.
func (c *crashes) short(t testing.TB, mode wal.Mode, n int) (ops int) {
	t.Helper()
	c.opts.Sync = mode
	return c.run(t, n, func(s *Store, left int) {
		ctx := c.crashIn(t, left)
		o := c.owners[0]
		if o.write(t, s, 1); o.trying == nil {
			_ = s.Flush(ctx)
			o.write(t, s, 1)
		}
	})
}
