package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/selftest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// A child, this binary, writes to an index and is killed. These environment variables configure
// it.
const (
	crashModeEnv = "GRIFFIN_INDEX_CRASH_MODE"
	crashDirEnv  = "GRIFFIN_INDEX_CRASH_DIR"
	crashLastEnv = "GRIFFIN_INDEX_CRASH_LAST" // the operation after which the child waits to be killed
)

// crashAhead is how many operations a child does at most after the one at which it is killed, however slow this process is.
const crashAhead = 10

func TestMain(m *testing.M) {
	dir := os.Getenv(crashDirEnv)
	var err error
	switch os.Getenv(crashModeEnv) {
	case "build":
		err = crashBuild(dir)
	case "commit":
		err = crashCommits(dir)
	case "merge":
		err = crashMerge(dir)
	default:
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Bytes on standard output: one before each file operation, and one at the end.
const (
	crashOperation = '.'
	crashDone      = '!'
)

func crashSay(what byte) { _, _ = os.Stdout.Write([]byte{what}) }

func crashFS() vfs.FS {
	operations, last := 0, math.MaxInt
	if n, err := strconv.Atoi(os.Getenv(crashLastEnv)); err == nil {
		last = n
	}
	return vfstest.NewFaulty(vfs.OS, vfstest.Plan{Before: func() {
		if operations++; operations > last {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1) // nobody killed the child
		}
		crashSay(crashOperation)
	}})
}

// The documents have columns.
func crashDocs() []corpus.Document { return typed(randomDocs(40, 1500, true)) }

func crashOptions(o Options) (Options, error) {
	m, err := mapping.Parse([]byte(withNumbers))
	o.Mapping = m
	return o, err
}

func crashBuild(dir string) error {
	opts, err := crashOptions(Options{Positions: true})
	if err != nil {
		return err
	}
	ix, err := Create(crashFS(), dir, opts)
	if err != nil {
		return err
	}
	if _, err := ix.Build(context.Background(), &memoryReader{docs: crashDocs(), batch: 50}, BuildOptions{MemoryBytes: minMemoryBytes}); err != nil {
		return err
	}
	crashSay(crashDone)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.New("nobody killed the child")
}

func crashChange(docs []corpus.Document, generation uint64) (add []corpus.Document, remove string) {
	rng := rand.New(rand.NewPCG(generation, 41))
	for range 1 + rng.IntN(40) {
		add = append(add, docs[rng.IntN(len(docs))])
	}
	return add, docs[rng.IntN(len(docs))].ID
}

func crashCommits(dir string) error {
	docs := typed(randomDocs(42, 300, false))
	fsys := crashFS()
	opts, err := crashOptions(Options{})
	if err != nil {
		return err
	}
	ix, err := Open(fsys, dir)
	if errors.Is(err, base.ErrNotIndex) {
		ix, err = Create(fsys, dir, opts)
	}
	if err != nil {
		return err
	}
	w, err := ix.Writer(WriterOptions{})
	if err != nil {
		return err
	}
	for generation := ix.currentManifest().Generation + 1; ; generation++ {
		add, remove := crashChange(docs, generation)
		err := w.Delete(remove)
		for i := range add {
			err = errors.Join(err, w.Add(&add[i]))
		}
		if err := errors.Join(err, w.Commit(context.Background())); err != nil {
			return err
		}
	}
}

func crashMerge(dir string) error {
	ix, err := Open(crashFS(), dir)
	if err != nil {
		return err
	}
	if _, err := ix.Merge(context.Background(), MergeOptions{}); err != nil {
		return err
	}
	crashSay(crashDone)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.New("nobody killed the child")
}

// A child is killed (SIGKILL) shortly after a number of file operations, or at its end.
func killed(t *testing.T, rng *rand.Rand, mode, dir string, after int) (operations int) {
	t.Helper()
	var output childOutput
	cmd := selftest.Command(t, "index")
	cmd.Env = append(os.Environ(), crashModeEnv+"="+mode, crashDirEnv+"="+dir)
	if after < math.MaxInt {
		cmd.Env = append(cmd.Env, crashLastEnv+"="+strconv.Itoa(after+crashAhead))
	}
	cmd.Stderr = &output
	in, err := cmd.StdinPipe() // ends with this process, and so ends the child
	check(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	said := bufio.NewReader(out)
	for operations < after {
		what, err := said.ReadByte()
		if err != nil {
			break // the child ended; reported below
		}
		if what == crashDone {
			break
		}
		operations++
	}
	for range rng.IntN(10_000) { // up to the time of a few operations
		runtime.Gosched()
	}
	check(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil || len(output) > 0 {
		t.Fatalf("child ended early (%v): %s", err, output)
	}
	return operations
}

type childOutput []byte

func (b *childOutput) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

const maxCrashOperations = 500 // for a child that commits

// crashes returns the number of children of each kind that are killed.
func crashes() int { return sampletest.Rounds(10, 25) }

// The kill leaves no index or a whole one.
func TestKillBuild(t *testing.T) {
	want := expect(t, crashDocs(), Options{Positions: true})
	rng := rand.New(rand.NewPCG(43, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "index")
	none, whole, all := 0, 0, 0
	for i := range crashes() {
		after := math.MaxInt // the first child ends and gives the number of operations
		switch {
		case i == 1:
			after = 1
		case i > 1 && i%2 == 0: // near the commit
			after = all - rng.IntN(min(all, 12))
		case i > 1:
			after = 1 + rng.IntN(all)
		}
		operations := killed(t, rng, "build", dir, after)
		if i == 0 {
			all = operations
		}
		ix, err := Open(vfs.OS, dir)
		if errors.Is(err, base.ErrNotIndex) {
			none++
			continue // the next child starts with the leftovers
		}
		if err != nil {
			t.Fatalf("killed after %d of %d operations: %v", operations, all, err)
		}
		whole++
		verify(t, ix)
		checkStoredColumns(t, ix)
		sameDocs(t, dump(t, ix), want)
		check(t, ix.Close())
		check(t, os.RemoveAll(dir))
	}
	if none == 0 || whole == 0 {
		t.Errorf("%d times no index, %d times a whole one: want both", none, whole)
	}
	t.Logf("%d times no index, %d times a whole one; a build takes %d operations", none, whole, all)
}

// The index always holds exactly the commits up to its generation.
func TestKillCommits(t *testing.T) {
	docs := typed(randomDocs(42, 300, false))
	rng := rand.New(rand.NewPCG(44, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "index")
	var m model
	generation := uint64(0)
	for range crashes() {
		operations := killed(t, rng, "commit", dir, 1+rng.IntN(maxCrashOperations))
		ix, err := Open(vfs.OS, dir)
		if errors.Is(err, base.ErrNotIndex) && generation == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("generation %d, killed after %d operations: %v", generation, operations, err)
		}
		s, err := ix.Snapshot()
		check(t, err)
		if s.Generation < generation {
			t.Fatalf("generation %d after %d", s.Generation, generation)
		}
		for generation < s.Generation {
			generation++
			add, remove := crashChange(docs, generation)
			m.delete(remove)
			for _, d := range add {
				m.add(d)
			}
		}
		s.Release()
		verify(t, ix)
		checkStoredColumns(t, ix)
		sameDocs(t, dump(t, ix), expect(t, slices.Clone(m.pending), Options{}))
		check(t, ix.Close())
	}
	if generation == 0 {
		t.Error("no child committed")
	}
	t.Logf("%d commits", generation)
}

// Documents stay, in the former segments or in one, with impact-ordered lists.
func TestKillMerge(t *testing.T) {
	docs := typed(randomDocs(45, 300, false))
	want := expect(t, docs[1:], Options{})
	rng := rand.New(rand.NewPCG(46, uint64(time.Now().UnixNano())))
	former, merged, all := 0, 0, 0
	dir := filepath.Join(t.TempDir(), "index")
	for i := range crashes() {
		prepareMerge(t, dir, docs)
		after := math.MaxInt // the first child ends and gives the number of operations
		switch {
		case i == 1:
			after = 1
		case i > 1 && i%2 == 0: // near the commit
			after = all - rng.IntN(min(all, 12))
		case i > 1:
			after = 1 + rng.IntN(all)
		}
		operations := killed(t, rng, "merge", dir, after)
		if i == 0 {
			all = operations
		}
		ix, err := Open(vfs.OS, dir)
		if err != nil {
			t.Fatalf("killed after %d of %d operations: %v", operations, all, err)
		}
		verify(t, ix)
		checkStoredColumns(t, ix)
		sameDocs(t, dump(t, ix), want)
		s, err := ix.Snapshot()
		check(t, err)
		if _, err := s.StoredImpacts(); err != nil {
			t.Fatalf("killed after %d of %d operations: %v", operations, all, err)
		}
		s.Release()
		switch n := sizeNow(t, ix).Segments; n {
		case 1:
			merged++
		case 2:
			former++
		default:
			t.Fatalf("%d segments", n)
		}
		check(t, ix.Close())
		check(t, os.RemoveAll(dir))
	}
	if former == 0 || merged == 0 {
		t.Errorf("%d times the former segments, %d times one: want both", former, merged)
	}
	t.Logf("%d times the former segments, %d times one; a merge takes %d operations", former, merged, all)
}

// Two segments, docs[0] deleted, impact-ordered lists.
func prepareMerge(t *testing.T, dir string, docs []corpus.Document) {
	t.Helper()
	opts, err := crashOptions(Options{})
	check(t, err)
	ix, err := Create(vfs.OS, dir, opts)
	check(t, err)
	w := newWriter(t, ix)
	addAll(t, w, docs[:200])
	check(t, w.Commit(t.Context()))
	addAll(t, w, docs[200:])
	check(t, errors.Join(w.Delete(docs[0].ID), w.Commit(t.Context()), w.Close()))
	_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, errors.Join(err, ix.Close()))
}
