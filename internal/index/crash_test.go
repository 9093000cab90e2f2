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
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// The crash tests run this test binary as a child that writes to an index, and
// kill it. These variables tell it so.
const (
	crashModeEnv = "GRIFFIN_INDEX_CRASH_MODE"
	crashDirEnv  = "GRIFFIN_INDEX_CRASH_DIR"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(crashDirEnv)
	var err error
	switch os.Getenv(crashModeEnv) {
	case "build":
		err = crashBuild(dir)
	case "commit":
		err = crashCommits(dir)
	default:
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// What a child says on standard output: a byte before each operation on files, and one
// when it has done all that it has to.
const (
	crashOperation = '.'
	crashDone      = '!'
)

func crashSay(what byte) { _, _ = os.Stdout.Write([]byte{what}) }

// crashFS is the file system of a child.
func crashFS() vfs.FS {
	return vfstest.NewFaulty(vfs.OS, vfstest.Plan{Before: func() { crashSay(crashOperation) }})
}

func crashDocs() []corpus.Document { return randomDocs(40, 1500, true) }

// crashBuild builds an index once, in little memory, and waits to be killed.
func crashBuild(dir string) error {
	ix, err := Create(crashFS(), dir, Options{Positions: true})
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

// crashChange is what commit number generation adds and deletes.
func crashChange(docs []corpus.Document, generation uint64) (add []corpus.Document, remove string) {
	rng := rand.New(rand.NewPCG(generation, 41))
	for range 1 + rng.IntN(40) {
		add = append(add, docs[rng.IntN(len(docs))])
	}
	return add, docs[rng.IntN(len(docs))].ID
}

// crashCommits commits one change after another until it is killed.
func crashCommits(dir string) error {
	docs := randomDocs(42, 300, false)
	fsys := crashFS()
	ix, err := Open(fsys, dir)
	if errors.Is(err, base.ErrNotIndex) {
		ix, err = Create(fsys, dir, Options{})
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

// killed runs a child and kills it (SIGKILL) after so many operations on files and a
// moment, or when it has done all. It returns how many operations there were until then.
func killed(t *testing.T, rng *rand.Rand, mode, dir string, after int) (operations int) {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	var output childOutput
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), crashModeEnv+"="+mode, crashDirEnv+"="+dir)
	cmd.Stderr = &output
	in, err := cmd.StdinPipe() // ends with this process, so that the child does, too
	check(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	said := bufio.NewReader(out)
	for operations < after {
		what, err := said.ReadByte()
		if err != nil {
			break // it ended by itself, which is told below
		}
		if what == crashDone {
			break
		}
		operations++
	}
	for range rng.IntN(10_000) { // less than an operation takes, or a few
		runtime.Gosched()
	}
	check(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil || len(output) > 0 {
		t.Fatalf("child ended by itself (%v): %s", err, output)
	}
	return operations
}

// childOutput collects what a child says.
type childOutput []byte

func (b *childOutput) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

const (
	crashes            = 25  // of each kind
	maxCrashOperations = 500 // of a child that commits: some commits
)

// TestKillBuild kills a first build after any number of operations: it leaves no index
// or the whole one.
func TestKillBuild(t *testing.T) {
	want := expect(t, crashDocs(), Options{Positions: true})
	rng := rand.New(rand.NewPCG(43, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "index")
	none, whole, all := 0, 0, 0
	for i := range crashes {
		after := math.MaxInt // the first ends, and tells how many operations there are
		switch {
		case i == 1:
			after = 1
		case i > 1 && i%2 == 0: // about the commit
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
			continue // the next child starts among the leftovers
		}
		if err != nil {
			t.Fatalf("killed after %d of %d operations: %v", operations, all, err)
		}
		whole++
		verify(t, ix)
		sameDocs(t, dump(t, ix), want)
		check(t, ix.Close())
		check(t, os.RemoveAll(dir))
	}
	if none == 0 || whole == 0 {
		t.Errorf("%d times no index, %d times the whole: want some of each", none, whole)
	}
	t.Logf("%d times no index, %d times the whole, which takes %d operations", none, whole, all)
}

// TestKillCommits kills a writer after any number of operations, again and again on the same
// index: it always holds exactly the commits up to its generation.
func TestKillCommits(t *testing.T) {
	docs := randomDocs(42, 300, false)
	rng := rand.New(rand.NewPCG(44, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "index")
	var m model
	generation := uint64(0)
	for range crashes {
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
		sameDocs(t, dump(t, ix), expect(t, slices.Clone(m.pending), Options{}))
		check(t, ix.Close())
	}
	if generation == 0 {
		t.Error("no child lived long enough to commit")
	}
	t.Logf("%d commits", generation)
}
