package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server of a folder has an index gov only if it is a folder itself, as griffin serve does, and loads of gov need one. A load
// over HTTP needs a server that listens, and other commands need that it has ended.
const (
	fakeServe = `for folder; do :; done
[ ! -d "$folder/gov" ] || [ -L "$folder/gov" ] || touch "$FAKE/has-gov"
GPU_TEST_SERVER=1 exec "$TEST_PROGRAM" "$@"`
	checkServer = `[ ! -e "$FAKE/serving" ] || { echo "a server runs" >&2; exit 1; }
`
	fakeTargetLoad = `case "$*" in *http://*) [ -e "$FAKE/serving" ] || { echo "no server listens" >&2; exit 1; } ;; *) ` + checkServer + ` ;; esac
case "$*" in *"--index gov"*) [ -e "$FAKE/has-gov" ] || { echo "there is no index gov" >&2; exit 1; } ;; esac
[ ! -e "$FAKE/load-fails" ] || case "$*" in *"$(cat "$FAKE/load-fails")"*) echo "the load broke" >&2; exit 1 ;; esac
printf '{\n  "highest_rate": 5000.7\n}\n'`
	fakeImages = `#!/usr/bin/env bash
echo "$*" >>"$FAKE/images.log"
[ -e "$2" ] && [ -e "$(dirname "$2")/gov2.queries.tsv" ] || { echo "no collection" >&2; exit 1; }
for to; do :; done
printf '{\n"images": 1\n}\n' >"$to"
`
)

func newTargets(t *testing.T) *script {
	t.Helper()
	s := newScript(t)
	s.fake("serve", fakeServe)
	s.fake("load", fakeTargetLoad)
	s.fake("bench", checkServer+`printf '{\n  "qps": 10\n}\n'`)
	if out, rc := s.run(nil, "info"); rc != 0 { // it unpacks
		t.Fatalf("exit %d: %s", rc, out)
	}
	s.write(filepath.Join(s.work, "bin/images"), fakeImages)
	s.write(filepath.Join(s.work, "base"), "")
	return s
}

func TestMain(m *testing.M) {
	if os.Getenv("GPU_TEST_SERVER") != "" {
		if err := runFakeServer(os.Getenv("FAKE"), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runFakeServer is the process of fakeServe. It takes time to begin and to end, and leaves the file serving meanwhile.
func runFakeServer(folder string, args []string) error {
	address := slices.Index(args, "--addr") + 1
	if address == 0 || address == len(args) {
		return fmt.Errorf("no address in %q", args)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	time.Sleep(300 * time.Millisecond)
	serving := filepath.Join(folder, "serving")
	if err := os.WriteFile(serving, nil, 0o600); err != nil {
		return err
	}
	l, err := net.Listen("tcp", args[address])
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute): // nobody is left to end it
	}
	time.Sleep(300 * time.Millisecond)
	return errors.Join(l.Close(), os.Remove(serving))
}

// freePort is one that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

var targetParts = strings.Fields(`or-device or-highest or-single or-parts or-tenth-4 and-device and-highest and-single and-parts and-tenth-4 http msearch
	cpu-one cpu-single cpu-highest cpu-closed or-overload or-traced or-tenth-16 and-overload and-traced and-tenth-16 http-overload images-usual images-compact`)

// The parts of targets are all in one file. Rates depend on the highest rate found before. The folder of multi-search has a copy
// of the index, and bench/gpu finds the collection.
func TestRunTargets(t *testing.T) {
	s := newTargets(t)
	port := freePort(t)
	out, rc := s.run([]string{"LOAD_SECONDS=3", "PORT=" + port}, "targets")
	if rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	var all struct {
		Runs map[string]any
	}
	if err := json.Unmarshal([]byte(s.results()["targets.json"]), &all); err != nil || len(all.Runs) != len(targetParts) {
		t.Errorf("%v: %d parts", err, len(all.Runs))
	}
	for _, p := range targetParts {
		if all.Runs["targets-"+p] == nil || !strings.Contains(out, "targets-"+p+": exit 0") {
			t.Errorf("no part %s in %v: %s", p, all.Runs, out)
		}
	}
	log := s.log("griffin.log")
	for _, command := range []string{
		"load --json -q --queries " + filepath.Join(s.work, "gov2-tb06-simdbp.1000.tsv") + " --device gpu --resident=1000 --no-calibrate --mode or --trace-every 100 --rate 500,4000,4750 --for 3s",
		"--mode and --deadline 8ms --within 10ms --rate 5000,10000,5000,10000 ",
		"serve -q --addr 127.0.0.1:" + port + " --result-cache 0 --no-calibrate --device gpu --resident=1000 " + filepath.Join(s.work, "folder") + "\n",
		" --index gov --batch 100 --p99 10ms --rate 80000 --for 3s --warmup 700ms http://127.0.0.1:" + port + "\n",
		" --within 10ms --rate 5000,10000,5000,10000 --for 3s --warmup 700ms http://127.0.0.1:" + port + "\n",
	} {
		if !strings.Contains(log, command) {
			t.Errorf("no %q in %s", command, log)
		}
	}
	copied := filepath.Join(s.work, "folder/gov")
	if i, err := os.Lstat(copied); err != nil || !i.IsDir() {
		t.Errorf("%s is no folder: %v", copied, err)
	}
	if l := s.log("images.log"); strings.Count(l, "\n") != 2 || strings.Count(l, "-compact -json") != 1 {
		t.Errorf("bench/gpu is run by %s", l)
	}
}

// A part that fails makes the step fail, and the others have results: one of griffin, multi-search without its index, and bench/gpu.
func TestRunTargetsFails(t *testing.T) {
	s := newTargets(t)
	s.fake("load-fails", "--mode or --policy gpu --trace-every 5")
	s.fake("serve", strings.Replace(fakeServe, "touch", "true", 1))
	if err := os.Remove(filepath.Join(s.work, "base")); err != nil {
		t.Fatal(err)
	}
	port := "PORT=" + freePort(t)
	out, rc := s.run([]string{port}, "targets")
	if rc != 1 {
		t.Errorf("exit %d: %s", rc, out)
	}
	for part, text := range map[string]string{"or-traced": "the load broke", "msearch": "there is no index gov", "images-usual": "no collection"} {
		if !strings.Contains(out, "targets-"+part+": exit 1") || !strings.Contains(out, text) {
			t.Errorf("no exit 1 of %s with %q in %s", part, text, out)
		}
	}
	all := s.results()["targets.json"]
	if !json.Valid([]byte(all)) || strings.Contains(all, `"targets-or-traced": {`) || !strings.Contains(all, `"targets-http-overload": {`) {
		t.Errorf("targets.json is %s", all)
	}
	s.fake("load-fails", "--workers-per-query 0")
	s.fake("serve", fakeServe)
	s.write(filepath.Join(s.work, "base"), "")
	if out, rc := s.run([]string{port}, "targets"); rc != 1 || strings.Count(out, ": exit 1") != 1 || !strings.Contains(out, "targets-cpu-highest: exit 1") {
		t.Errorf("with one part that fails: exit %d: %s", rc, out)
	}
}
