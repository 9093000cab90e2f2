package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// TestServeDirectory: acknowledged writes survive SIGTERM and SIGKILL.
func TestServeDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ask := func(method, url, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	ids := []string{"1", "2", "3"}
	for round, id := range ids {
		cmd := griffinProcess(t, "serve", "--device", "cpu", "--addr", "127.0.0.1:0", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("no line on standard output: %v\n%s", err, &errOut)
		}
		_, address, _ := strings.Cut(line, "on http://")
		address, _, _ = strings.Cut(address, "/")
		for _, old := range ids[:round] {
			if status, text := ask(http.MethodGet, "http://"+address+"/notes/_doc/"+old, ""); status != http.StatusOK || !strings.Contains(text, `{"n": "`+old+`"}`) {
				t.Errorf("round %d: document %s: status %d: %s", round, old, status, text)
			}
		}
		if status, text := ask(http.MethodPut, "http://"+address+"/notes/_doc/"+id, `{"n": "`+id+`"}`); status != http.StatusCreated {
			t.Fatalf("status %d: %s", status, text)
		}
		if round == 1 {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			continue
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after SIGTERM: %v\n%s", err, &errOut)
		}
	}
}

// TestIsDirectory: a folder of other files is not taken for a folder of indexes.
func TestIsDirectory(t *testing.T) {
	root := t.TempDir()
	makeIndex(t, filepath.Join(root, "indexes", "x"))
	for name, entry := range map[string]string{"texts": "a.txt", "made": ".griffin/a.json"} {
		path := filepath.Join(root, name, entry)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"indexes": true, "indexes/x": false, "texts": false, "made": true, "empty": true, "missing": true, "missing.idx": false} {
		got, err := isDirectory(filepath.Join(root, name))
		if refused := name == "texts" || name == "missing.idx"; got != want || errors.Is(err, griffin.ErrNotIndex) != refused || err != nil && !refused {
			t.Errorf("%s: %t, %v, want %t", name, got, err, want)
		}
	}
}

// startDirectory serves a folder of indexes until the test ends, and returns its address.
func startDirectory(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	cmd := griffinProcess(t, append([]string{"serve", "--device", "cpu", "--addr", "127.0.0.1:0", dir}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(line, "on http://")
	address, _, _ = strings.Cut(address, "/")
	return address
}

// The server makes and restores snapshots of its indexes in the repositories that it was started with.
func TestSnapshotsOfServer(t *testing.T) {
	dir := t.TempDir()
	write(t, "alpha one", dir, "docs", "a.txt")
	store := filepath.Join(dir, "store")
	address := startDirectory(t, filepath.Join(dir, "data"), "--repository", "nightly="+store)
	on := []string{"--server", "http://" + address}
	run := func(want string, args ...string) {
		t.Helper()
		if out := runGriffin(t, append(args, on...)...); !strings.Contains(out, want) {
			t.Errorf("%v: %s, want %s", args, out, want)
		}
	}
	run("1 document", "add", "notes", filepath.Join(dir, "docs"))
	run("notes → nightly, snapshot monday: 1 document", "snapshot", "create", "notes", "nightly", "--name", "monday")
	run("monday", "snapshot", "list", "nightly")
	run("snapshot monday → copy: 1 document", "snapshot", "restore", "nightly", "monday", "--out", "copy")
	run("1 document", "snapshot", "create", "copy", "nightly") // with the time as its name
	write(t, "1\talpha\n", dir, "log.tsv")
	for _, c := range []struct {
		args []string
		hint string
	}{
		{append([]string{"snapshot", "create", "notes", "nightly", "--name", "monday"}, on...), "choose another --name"},
		{append([]string{"snapshot", "restore", "nightly", "monday", "--out", "copy"}, on...), "choose another --out"},
		{append([]string{"delete", "absent", "1"}, on...), "griffin add INDEX PATH… --server URL"},
		{[]string{"load", "http://" + address, "--index", "absent", "--queries", filepath.Join(dir, "log.tsv")}, "GET /_cat/indices"},
	} {
		var out, errOut bytes.Buffer
		if code := realMain(c.args, terminal{out: &out, err: &errOut}); code != exitIndex || !strings.Contains(errOut.String(), c.hint) {
			t.Errorf("%v: exit code %d, want %d and the hint %q: %s%s", c.args, code, exitIndex, c.hint, &out, &errOut)
		}
	}
	run("deleted", "snapshot", "delete", "nightly", "monday")
	if out := runGriffin(t, "snapshot", "list", store); strings.Contains(out, "monday") || !strings.Contains(out, "Z") {
		t.Error(out)
	}
	for _, args := range [][]string{
		{"snapshot", "create", "absent", "nightly"},
		{"snapshot", "create", "notes", "weekly"},
		{"snapshot", "list", "a/b"},
		{"snapshot", "restore", "nightly", "absent", "--out", "x"},
	} {
		var out, errOut bytes.Buffer
		if code := realMain(append(args, on...), terminal{out: &out, err: &errOut}); code == 0 || errOut.Len() == 0 {
			t.Errorf("%v: exit code %d, %s%s", args, code, &out, &errOut)
		}
	}
	for _, flag := range []string{"nightly", "=x", "a b=x"} {
		var out, errOut bytes.Buffer
		if code := realMain([]string{"serve", filepath.Join(dir, "other"), "--addr", "127.0.0.1:0", "--repository", flag}, terminal{out: &out, err: &errOut}); code != exitUsage {
			t.Errorf("--repository %q: exit code %d\n%s", flag, code, &errOut)
		}
	}
}

// --merge-rate is for a server that writes, and must be a size.
func TestMergeRateFlag(t *testing.T) {
	dir := t.TempDir()
	write(t, "alpha one", dir, "docs", "a.txt")
	one := filepath.Join(dir, "one.idx")
	runGriffin(t, "index", filepath.Join(dir, "docs"), "--out", one)
	for _, c := range []struct {
		data, rate, want string
	}{{one, "20MB", "is one index"}, {filepath.Join(dir, "data"), "fast", "want a size"}} {
		var out, errOut bytes.Buffer
		code := realMain([]string{"serve", c.data, "--addr", "127.0.0.1:0", "--merge-rate", c.rate}, terminal{out: &out, err: &errOut})
		if code != exitUsage || !strings.Contains(errOut.String(), c.want) {
			t.Errorf("--merge-rate %s: exit code %d\n%s", c.rate, code, &errOut)
		}
	}
	startDirectory(t, filepath.Join(dir, "data"), "--merge-rate", "20MB")
}

// After a kill, writes are in the log only: commands note them, and a snapshot has them.
func TestUncommittedWrites(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	write(t, "alpha one", dir, "docs", "a.txt")
	cmd := griffinProcess(t, "serve", "--device", "cpu", "--addr", "127.0.0.1:0", data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(line, "on ")
	runGriffin(t, "add", "notes", filepath.Join(dir, "docs"), "--server", strings.Fields(address)[0])
	// A server takes records with neither title nor text.
	write(t, `{"id": "1", "price": 5}`, dir, "bare.jsonl")
	if added := runGriffin(t, "add", "bare", filepath.Join(dir, "bare.jsonl"), "--server", strings.Fields(address)[0]); !strings.Contains(added, "1 document added") {
		t.Errorf("records without text: %s", added)
	}
	run := func(want string, args ...string) {
		t.Helper()
		var out, errOut bytes.Buffer
		if code := realMain(args, terminal{out: &out, err: &errOut}); code != 0 || !strings.Contains(errOut.String(), want) {
			t.Errorf("%v: exit code %d, %s%s, want %q", args, code, &out, &errOut, want)
		}
	}
	index := filepath.Join(data, "notes")
	run("1 write in the log of "+index+", which is in use: not in the snapshot", "snapshot", "create", index, filepath.Join(dir, "store"), "--name", "empty")
	var errOut bytes.Buffer
	if code := realMain([]string{"serve", "--device", "cpu", "--addr", "127.0.0.1:0", data}, terminal{out: io.Discard, err: &errOut}); code != exitIndex || !strings.Contains(errOut.String(), "one server at a time") {
		t.Errorf("a second server: exit code %d, %s", code, &errOut)
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	run("1 write in the log of "+index+": ", "stats", index)
	run("griffin merge", "verify", index)
	for _, args := range [][]string{
		{"search", index, "alpha"}, {"export", index}, {"export", index, "--out", filepath.Join(dir, "out.jsonl")}, {"suggest", index, "alpha"}, {"complete", index, "alpha"}, {"verify", "--rebuild", index},
	} {
		run("1 write in the log of "+index+": ", args...)
		run("1 write in the log of "+index+": ", append(args, "--json")...)
	}
	for _, command := range []string{"stats", "verify", "suggest", "complete", "export", "search"} {
		args := []string{command, index, "--json"}
		want := `"uncommitted_writes": 1`
		switch command {
		case "export":
			args = append(args, "--out", filepath.Join(dir, "out.jsonl"))
		case "search":
			want = "1 write in the log of "
			fallthrough
		case "suggest", "complete":
			args = append(args, "alpha")
		}
		var out bytes.Buffer
		if code := realMain(args, terminal{out: &out, err: io.Discard}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%v: exit code %d, %s, want %s", args, code, &out, want)
		}
	}
	if out := runGriffin(t, "verify", "--rebuild", index); !strings.Contains(out, ", without 1 write in the log") {
		t.Error(out)
	}
	if out := runGriffin(t, "snapshot", "create", index, filepath.Join(dir, "store"), "--name", "full"); !strings.Contains(out, "snapshot full: 1 document") {
		t.Error(out)
	}
	if out := runGriffin(t, "stats", index, "--json"); strings.Contains(out, "uncommitted_writes") {
		t.Errorf("after the snapshot: %s", out)
	}
	bare := filepath.Join(data, "bare")
	if out := runGriffin(t, "merge", bare); !strings.Contains(out, "1 write of the log committed") {
		t.Errorf("the merge: %s", out)
	}
	if out := runGriffin(t, "stats", bare, "--json"); !strings.Contains(out, `"num_docs": 1`) || strings.Contains(out, "uncommitted_writes") {
		t.Errorf("after the merge: %s", out)
	}
}

// The lists of all indexes are in the memory of the GPU before the first query.
func TestServeDirectoryResident(t *testing.T) {
	library := gputest.Library(t).Path()
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		makeIndex(t, filepath.Join(dir, name))
	}
	lists := func(dir string) (n int) {
		cmd := griffinProcess(t, "serve", "--device", "0", "--gpu-memory", "8MiB", "--resident", "--no-calibrate", "--addr", "127.0.0.1:0", dir)
		cmd.Env = append(cmd.Env, "GRIFFIN_CUDA_LIBRARY="+library)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("no line on standard output: %v\n%s", err, &errOut)
		}
		_, address, _ := strings.Cut(line, "on http://")
		address, _, _ = strings.Cut(address, "/")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		for metric := range strings.Lines(string(text)) {
			if strings.HasPrefix(metric, "griffin_gpu_lists{") {
				if n, err = strconv.Atoi(strings.TrimSpace(metric[strings.LastIndexByte(metric, ' '):])); err != nil {
					t.Fatal(err)
				}
			}
		}
		return n
	}
	one := lists(filepath.Join(dir, "one"))
	if both := lists(dir); one == 0 || both != 2*one {
		t.Errorf("%d lists of two equal indexes in the memory of the GPU, want twice %d", both, one)
	}
}
