package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
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

func crashDocs() []corpus.Document { return randomDocs(40, 1500, true) }

// crashBuild builds an index once, in little memory, and waits to be killed.
func crashBuild(dir string) error {
	ix, err := Create(vfs.OS, dir, Options{Positions: true})
	if err != nil {
		return err
	}
	if _, err := ix.Build(context.Background(), &memoryReader{docs: crashDocs(), batch: 50}, BuildOptions{MemoryBytes: minMemoryBytes}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
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
	ix, err := Open(vfs.OS, dir)
	if errors.Is(err, base.ErrNotIndex) {
		ix, err = Create(vfs.OS, dir, Options{})
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

// killed runs a child and kills it (SIGKILL) after a delay.
func killed(t *testing.T, mode, dir string, delay time.Duration) {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	var output childOutput
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), crashModeEnv+"="+mode, crashDirEnv+"="+dir)
	cmd.Stderr = &output
	check(t, cmd.Start())
	time.Sleep(delay)
	check(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil || len(output) > 0 {
		t.Fatalf("child ended by itself (%v): %s", err, output)
	}
}

// childOutput collects what a child says.
type childOutput []byte

func (b *childOutput) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

const crashes = 25 // of each kind

// TestKillBuild kills a first build at random moments: it leaves no index or
// the whole one.
func TestKillBuild(t *testing.T) {
	want := expect(t, crashDocs(), Options{Positions: true})
	rng := rand.New(rand.NewPCG(43, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "index")
	none, whole := 0, 0
	longest := 400 * time.Millisecond
	for i := range crashes {
		delay := time.Duration(rng.Int64N(int64(longest)))
		if i == crashes-1 {
			delay = 2 * longest // let it end once
		}
		killed(t, "build", dir, delay)
		ix, err := Open(vfs.OS, dir)
		if errors.Is(err, base.ErrNotIndex) {
			none++
			continue // the next child starts among the leftovers
		}
		if err != nil {
			t.Fatalf("killed after %v: %v", delay, err)
		}
		whole++
		verify(t, ix)
		sameDocs(t, dump(t, ix), want)
		check(t, ix.Close())
		check(t, os.RemoveAll(dir))
	}
	t.Logf("%d times no index, %d times the whole", none, whole)
}

// TestKillCommits kills a writer at random moments, again and again on the same
// index: it always holds exactly the commits up to its generation.
func TestKillCommits(t *testing.T) {
	docs := randomDocs(42, 300, false)
	rng := rand.New(rand.NewPCG(44, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "index")
	var m model
	generation := uint64(0)
	for range crashes {
		delay := time.Duration(rng.Int64N(int64(200 * time.Millisecond)))
		killed(t, "commit", dir, delay)
		ix, err := Open(vfs.OS, dir)
		if errors.Is(err, base.ErrNotIndex) && generation == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("generation %d, killed after %v: %v", generation, delay, err)
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
