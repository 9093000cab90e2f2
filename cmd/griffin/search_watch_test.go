package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// watcher is a process of griffin watch.
type watcher struct {
	t      *testing.T
	cmd    *exec.Cmd
	events chan watchEvent
	errOut bytes.Buffer
}

func startWatch(t *testing.T, args ...string) *watcher {
	t.Helper()
	return startHeldWatch(t, 10_000, args...)
}

// startHeldWatch is startWatch with room for the given number of events. When it and the pipe are full, the process waits.
func startHeldWatch(t *testing.T, unread int, args ...string) *watcher {
	t.Helper()
	w := &watcher{t: t, cmd: griffinProcess(t, append([]string{"watch", "--json"}, args...)...), events: make(chan watchEvent, unread)}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.Stderr = &w.errOut
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		defer close(w.events)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var e watchEvent
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				w.events <- e
			}
		}
	}()
	return w
}

// wait returns the next event that is wanted.
func (w *watcher) wait(wanted func(watchEvent) bool) watchEvent {
	w.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-w.events:
			if !ok {
				w.t.Fatalf("the process ended: %v\n%s", w.cmd.Wait(), &w.errOut)
			}
			if wanted(e) {
				return e
			}
		case <-timeout:
			w.t.Fatal("no such event")
		}
	}
}

func (w *watcher) waitFor(event, file string) watchEvent {
	w.t.Helper()
	return w.wait(func(e watchEvent) bool { return e.Event == event && filepath.Base(e.File) == filepath.Base(file) })
}

func (w *watcher) interrupt() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.t.Fatal(err)
	}
	for range w.events {
		continue
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("after an interrupt: %v\n%s", err, &w.errOut)
	}
}

func (w *watcher) kill() {
	_ = w.cmd.Process.Kill()
	for range w.events {
		continue
	}
	_ = w.cmd.Wait()
}

func runGriffin(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := realMain(args, terminal{in: strings.NewReader(""), out: &out, err: &errOut}); code != exitOK {
		t.Fatalf("griffin %s: exit code %d\n%s%s", strings.Join(args, " "), code, &out, &errOut)
	}
	return out.String()
}

func documentsOf(t *testing.T, dir string) map[string]griffin.Document {
	t.Helper()
	ix, err := griffin.Open(dir, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	docs := map[string]griffin.Document{}
	for d, err := range ix.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		docs[d.ID] = d
	}
	return docs
}

// checkFollowed compares an index with a new index of the folder.
func checkFollowed(t *testing.T, dir, folder string) {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), "fresh.idx")
	runGriffin(t, "index", "--out", fresh, folder, "--quiet", "--max-errors", "-1")
	got, want := documentsOf(t, dir), documentsOf(t, fresh)
	if !reflect.DeepEqual(got, want) {
		for id := range want {
			if !reflect.DeepEqual(got[id], want[id]) {
				t.Errorf("document %q: %+v, want %+v", id, got[id], want[id])
			}
		}
		for id := range got {
			if _, ok := want[id]; !ok {
				t.Errorf("document %q should not be there", id)
			}
		}
	}
	runGriffin(t, "verify", "--rebuild", dir)
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Changes are visible to other processes when they are reported, and an interrupt ends cleanly.
func TestWatchProcess(t *testing.T) {
	dir := t.TempDir()
	docs, idx := filepath.Join(dir, "docs"), filepath.Join(dir, "x.idx")
	write(t, "alpha one", docs, "a.txt")
	write(t, `{"id":"1","text":"beta"}`+"\n"+`{"id":"2","text":"gamma"}`+"\n", docs, "sub", "r.jsonl")
	w := startWatch(t, docs, "--out", idx)
	if ready := w.wait(func(e watchEvent) bool { return e.Event == "ready" }); ready.Added != 3 || ready.Docs != 3 || ready.Files != 2 {
		t.Errorf("ready: %+v", ready)
	}
	find := func(query string, ids ...string) {
		t.Helper()
		ix, err := griffin.Open(idx, griffin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		r, err := ix.Search(t.Context(), griffin.Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range r.Hits {
			got = append(got, r.Hits[i].ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(ids) {
			t.Errorf("search %q = %v, want %v", query, got, ids)
		}
	}
	began := time.Now()
	write(t, "delta two", docs, "new", "deep", "b.txt")
	if e := w.waitFor("file", "b.txt"); e.Added != 1 {
		t.Errorf("%+v", e)
	}
	t.Logf("visible after %s", time.Since(began))
	find("delta", "new/deep/b.txt")
	// An editor writes beside the file, and renames.
	write(t, `{"id":"2","text":"gamma epsilon"}`+"\n"+`{"id":"3","text":"zeta"}`+"\n", docs, "sub", ".r.jsonl.swp")
	if err := os.Rename(filepath.Join(docs, "sub", ".r.jsonl.swp"), filepath.Join(docs, "sub", "r.jsonl")); err != nil {
		t.Fatal(err)
	}
	if e := w.waitFor("file", "r.jsonl"); e.Added != 1 || e.Replaced != 1 || e.Deleted != 1 {
		t.Errorf("%+v", e)
	}
	find("beta")
	find("epsilon", "2")
	if err := os.Rename(filepath.Join(docs, "new"), filepath.Join(docs, "newer")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("removed", "b.txt")
	find("delta", "newer/deep/b.txt")
	write(t, `{"id":"4","text":"eta"}`+"\n{bad\n", docs, "bad.jsonl")
	if e := w.waitFor("error", "bad.jsonl"); !strings.Contains(e.Error, "bad.jsonl:2") {
		t.Errorf("%+v", e)
	}
	w.waitFor("file", "bad.jsonl")
	if err := os.RemoveAll(filepath.Join(docs, "newer")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("removed", "b.txt")
	w.interrupt()
	checkFollowed(t, idx, docs)

	// What happened in the meantime is found at the next start.
	write(t, "alpha changed", docs, "a.txt")
	if err := os.Remove(filepath.Join(docs, "sub", "r.jsonl")); err != nil {
		t.Fatal(err)
	}
	runGriffin(t, "watch", docs, "--out", idx, "--once")
	checkFollowed(t, idx, docs)
	if out := runGriffin(t, "watch", docs, "--out", idx, "--once"); !strings.HasPrefix(out, "no changes in ") {
		t.Error(out)
	}
	// Other writers changed it.
	runGriffin(t, "delete", idx, "4")
	write(t, `{"id":"a.txt","text":"of another"}`, dir, "other.jsonl")
	runGriffin(t, "index", "--out", idx, "--update", filepath.Join(dir, "other.jsonl"), "--quiet")
	runGriffin(t, "merge", idx)
	runGriffin(t, "watch", docs, "--out", idx, "--once")
	checkFollowed(t, idx, docs)
}

// A process that is killed again and again while files change loses nothing.
func TestWatchKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	docs, idx := filepath.Join(dir, "docs"), filepath.Join(dir, "x.idx")
	name := func() string { return filepath.Join(docs, fmt.Sprint("d", rng.IntN(3)), fmt.Sprint(rng.IntN(6))) }
	for round := range sampletest.Rounds(4, 60) {
		for range 10 {
			write(t, fmt.Sprintf("text %d", rng.IntN(1000)), name()+".txt")
		}
		w := startWatch(t, docs, "--out", idx, "--verbose")
		for range rng.IntN(60) {
			switch rng.IntN(6) {
			case 0:
				_ = os.Remove(name() + ".txt")
			case 1:
				_ = os.Rename(filepath.Join(docs, fmt.Sprint("d", rng.IntN(3))), filepath.Join(docs, fmt.Sprint("d", rng.IntN(3))))
			case 2:
				write(t, fmt.Sprintf("text %d", rng.IntN(1000)), name()+".txt")
			default:
				var b strings.Builder
				for range rng.IntN(200) {
					fmt.Fprintf(&b, `{"id":"%d","text":"record %d"}`+"\n", rng.IntN(300), rng.IntN(1000))
				}
				write(t, b.String(), name()+".jsonl")
			}
			time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		}
		if rng.IntN(2) == 0 {
			w.kill()
			continue
		}
		reported := fmt.Sprintf("reported%d.txt", round)
		write(t, "text of "+reported, docs, reported)
		w.waitFor("file", reported)
		w.kill()
		if got := documentsOf(t, idx)[reported].Text; got != "text of "+reported {
			t.Errorf("%s was reported, and the index has %q", reported, got)
		}
	}
	runGriffin(t, "watch", docs, "--out", idx, "--once")
	checkFollowed(t, idx, docs)
}

// On a server.
func TestWatchServer(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs")
	write(t, "alpha one", docs, "a.txt")
	address := startDirectory(t, filepath.Join(dir, "data"))
	args := []string{docs, "--out", "notes", "--server", "http://" + address, "--state", filepath.Join(dir, "made", "with", "state")}
	w := startWatch(t, args...)
	w.wait(func(e watchEvent) bool { return e.Event == "ready" })
	write(t, "beta two", docs, "b.txt")
	w.waitFor("file", "b.txt")
	if err := os.Remove(filepath.Join(docs, "a.txt")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("removed", "a.txt")
	w.interrupt()
	count := func(query string, want string) {
		t.Helper()
		out := runGriffin(t, "delete", "notes", "--server", "http://"+address, "--query", query, "--dry-run")
		if !strings.Contains(out, want) {
			t.Errorf("%s: %s, want %s", query, out, want)
		}
	}
	count("beta", "1 document would")
	count("alpha", "0 documents would")
	runGriffin(t, "delete", "notes", "b.txt", "--server", "http://"+address)
	if out := runGriffin(t, append([]string{"watch", "--once"}, args...)...); !strings.HasPrefix(out, "no changes") {
		t.Error(out)
	}
	if out := runGriffin(t, append([]string{"watch", "--once", "--recheck"}, args...)...); !strings.HasPrefix(out, "1 document added") {
		t.Error(out)
	}
	count("beta", "1 document would")
}

// An index that is deleted on the server is not followed further: the next start writes all documents.
func TestWatchServerDeleted(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs")
	write(t, "alpha one", docs, "a.txt")
	address := startDirectory(t, filepath.Join(dir, "data"))
	args := []string{docs, "--out", "notes", "--server", "http://" + address, "--state", filepath.Join(dir, "state")}
	w := startWatch(t, args...)
	w.wait(func(e watchEvent) bool { return e.Event == "ready" })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+address+"/notes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
	write(t, "beta two", docs, "b.txt")
	w.wait(func(e watchEvent) bool { return strings.Contains(e.Error, "notes was deleted while it was written") })
	w.kill()
	runGriffin(t, append([]string{"watch", "--once"}, args...)...)
	for _, word := range []string{"alpha", "beta"} {
		if out := runGriffin(t, "delete", "notes", "--server", "http://"+address, "--query", word, "--dry-run"); !strings.Contains(out, "1 document would") {
			t.Errorf("%s: %s", word, out)
		}
	}
}

// An interrupt before all files are read is not a success, and the next start goes on.
func TestWatchInterrupted(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs")
	const numFiles = 3000
	for i := range numFiles {
		write(t, "alpha "+strings.Repeat("beta gamma delta ", 200), docs, fmt.Sprintf("%d.txt", i))
	}
	for _, once := range []string{"--once", "--once=false"} {
		idx := filepath.Join(dir, once)
		w := startHeldWatch(t, 0, docs, "--out", idx, "--verbose", once) // it reads a part of the files before it waits
		w.wait(func(e watchEvent) bool { return e.Event == "file" })
		if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		end := w.wait(func(e watchEvent) bool { return e.Event == "end" })
		var exit *exec.ExitError
		if err := w.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || end.Error == "" || end.Files >= numFiles {
			t.Errorf("%s: %v, %+v\n%s", once, err, end, &w.errOut)
		}
		runGriffin(t, "watch", docs, "--out", idx, "--once", "--quiet")
		if got := len(documentsOf(t, idx)); got != numFiles {
			t.Errorf("%s: %d documents", once, got)
		}
	}
}

func TestWatchErrors(t *testing.T) {
	dir := t.TempDir()
	docs, idx := filepath.Join(dir, "docs"), filepath.Join(dir, "x.idx")
	write(t, "alpha one", docs, "a.txt")
	write(t, "alpha two", dir, "more", "a.txt")
	run := func(code int, args ...string) string {
		t.Helper()
		var out, errOut bytes.Buffer
		if got := realMain(append([]string{"watch", "--once"}, args...), terminal{out: &out, err: &errOut}); got != code {
			t.Errorf("griffin watch %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errOut)
		}
		return errOut.String()
	}
	run(exitUsage, docs)
	run(exitUsage, filepath.Join(docs, "a.txt"), "--out", idx)
	run(exitFailure, filepath.Join(dir, "none"), "--out", idx)
	run(exitUsage, docs, "--out", idx, "--poll", "1us")
	if exists(idx) {
		t.Error("an index was made")
	}
	run(exitOK, docs, "--out", idx, "--analyzer", "simple")
	run(exitUsage, docs, "--out", idx, "--analyzer", "english")
	if text := run(exitUsage, docs, filepath.Join(dir, "more"), "--out", idx); !strings.Contains(text, "--change-folders") {
		t.Error(text)
	}
	run(exitOK, docs, filepath.Join(dir, "more"), "--out", idx, "--change-folders")
	if got := len(documentsOf(t, idx)); got != 2 {
		t.Errorf("%d documents", got)
	}
	run(exitOK, filepath.Join(dir, "more"), "--out", idx, "--change-folders")
	checkFollowed(t, idx, filepath.Join(dir, "more"))
	w := startWatch(t, filepath.Join(dir, "more"), "--out", idx, "--poll", "20ms")
	w.wait(func(e watchEvent) bool { return e.Event == "ready" })
	run(exitIndex, filepath.Join(dir, "more"), "--out", idx)
	// Without events.
	write(t, "gamma", dir, "more", "b.txt")
	w.waitFor("file", "b.txt")
	// A folder that is missing keeps its documents.
	if err := os.Rename(filepath.Join(dir, "more"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("error", "more")
	if got := len(documentsOf(t, idx)); got != 2 {
		t.Errorf("%d documents", got)
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "more")); err != nil {
		t.Fatal(err)
	}
	write(t, "delta", dir, "more", "c.txt")
	w.waitFor("file", "c.txt")
	// One that has no files any more keeps them, too, also at the next start.
	for _, move := range [][2]string{{"more", "away"}, {"empty", "more"}} {
		if err := os.MkdirAll(filepath.Join(dir, move[0]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, move[0]), filepath.Join(dir, move[1])); err != nil {
			t.Fatal(err)
		}
	}
	w.wait(func(e watchEvent) bool { return e.Event == "error" && strings.Contains(e.Error, "--allow-empty") })
	w.interrupt()
	if text := run(exitOK, filepath.Join(dir, "more"), "--out", idx); !strings.Contains(text, "more: the folder has no files any more; is it mounted? Its documents stay; --allow-empty deletes them") {
		t.Error(text)
	}
	if got := len(documentsOf(t, idx)); got != 3 {
		t.Errorf("%d documents", got)
	}
	run(exitOK, filepath.Join(dir, "away"), "--out", idx, "--change-folders")
	checkFollowed(t, idx, filepath.Join(dir, "away"))
	run(exitOK, filepath.Join(dir, "more"), "--out", idx, "--change-folders", "--allow-empty")
	if got := len(documentsOf(t, idx)); got != 0 {
		t.Errorf("%d documents", got)
	}
}
