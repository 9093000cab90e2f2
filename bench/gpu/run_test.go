package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// It logs its arguments and sources the file named after its command, if there is one.
const fakeGriffin = `#!/usr/bin/env bash
echo "$*" >>"$FAKE/griffin.log"
case "$1 $2" in
"devices --json") cat "$FAKE/devices" 2>/dev/null || echo '{"devices": []}' ;;
"lab generate")
	while [ $# -gt 0 ]; do [ "$1" != --out ] || out=$2; shift; done
	[ ! -e "$FAKE/generate-fails" ] || { echo "no room"; exit 1; }
	[ ! -e "$FAKE/generate-waits" ] || { echo $$ >"$FAKE/at"; for ((i = 0; i < 3000; i++)); do sleep 0.1; done; }
	mkdir -p "$out"; printf '1\talpha\n' >"$out.queries.tsv" ;;
*) [ ! -e "$FAKE/$1" ] || . "$FAKE/$1" ;;
esac
`

// It reports an error if its arguments contain the text of the file finds.
const fakeSanitizer = `#!/usr/bin/env bash
echo "$*" >>"$FAKE/sanitizer.log"
[ ! -e "$FAKE/finds" ] || case "$*" in *"$(cat "$FAKE/finds")"*) echo "ERROR SUMMARY: 1 error"; exit 86 ;; esac
echo "ERROR SUMMARY: 0 errors"
`

// bench/gpu/run with a bundle of fake programs.
type script struct {
	t                      *testing.T
	bundle, work, out, bin string
}

func newScript(t *testing.T) *script {
	t.Helper()
	for _, tool := range []string{"bash", "tar", "xz", "timeout", "setsid"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	s := &script{t, filepath.Join(dir, "bundle"), filepath.Join(dir, "work"), filepath.Join(dir, "out"), filepath.Join(dir, "fake")}
	parts := filepath.Join(dir, "parts")
	s.write(filepath.Join(parts, "bin/griffin"), fakeGriffin)
	for _, p := range []string{"internal_gpu_decode", "internal_papers_scoring", "internal_dispatch"} {
		s.write(filepath.Join(parts, "tests", p+".test"), "#!/usr/bin/env bash\necho \"$0 $*\" >>\"$FAKE/tests.log\"\n")
	}
	s.write(filepath.Join(parts, "bin/updates"), "#!/usr/bin/env bash\necho \"$*\" >>\"$FAKE/updates.log\"\ntouch \"$2/changed\"\necho '{\"updates\": 1'\necho '}'\n")
	s.write(filepath.Join(parts, "bin/filters"), "#!/usr/bin/env bash\necho \"$*\" >>\"$FAKE/filters.log\"\nprintf '{\\n\"figures\": 1\\n}\\n' >\"$4\"\necho measured\n")
	s.write(filepath.Join(parts, "bundle.json"), `{"commit": "c0ffee"}`)
	s.write(filepath.Join(s.bin, "compute-sanitizer"), fakeSanitizer)
	s.write(filepath.Join(s.bin, "nvidia-smi"), "#!/usr/bin/env bash\necho no GPU\n")
	text, err := os.ReadFile("run")
	if err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(s.bundle, "run"), string(text))
	if out, err := exec.Command("tar", "-C", parts, "-cJf", filepath.Join(s.bundle, "bundle.tar.xz"), "bin", "tests", "bundle.json").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

func (s *script) write(path, text string) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		s.t.Fatal(err)
	}
}

// fake sets the script that a command of griffin runs.
func (s *script) fake(command, text string) { s.write(filepath.Join(s.bin, command), text) }

func (s *script) command(env []string, args ...string) *exec.Cmd {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	c := exec.CommandContext(s.t.Context(), "bash", append([]string{filepath.Join(s.bundle, "run")}, args...)...)
	c.Dir = "../.."
	c.Env = append(os.Environ(), append(env, "WORK="+s.work, "OUT="+s.out, "FAKE="+s.bin, "TEST_PROGRAM="+program, "PATH="+s.bin+":"+os.Getenv("PATH"))...)
	return c
}

func (s *script) run(env []string, args ...string) (string, int) {
	s.t.Helper()
	out, err := s.command(env, args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(out), 0
	case errors.As(err, &exit):
		return string(out), exit.ExitCode()
	}
	s.t.Fatal(err)
	return "", 0
}

// "" if it does not exist.
func (s *script) log(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.bin, name))
	return string(text)
}

// The files of results.tgz by name.
func (s *script) results() map[string]string {
	s.t.Helper()
	f, err := os.Open(filepath.Join(s.out, "results.tgz"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		s.t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			s.t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "./")] = string(text)
	}
}

// Each test program under compute-sanitizer has a timeout slightly below the given limit, to
// print its stacks, and an error of one run fails the script.
func TestRunSanitize(t *testing.T) {
	s := newScript(t)
	if out, rc := s.run([]string{"SANITIZE_SECONDS=900"}, "sanitize"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	lines := strings.Split(strings.TrimSpace(s.log("sanitizer.log")), "\n")
	if len(lines) != 6 {
		t.Errorf("%d runs, want 3 tools on 2 packages: %q", len(lines), lines)
	}
	for _, l := range lines {
		if !strings.Contains(l, "-test.timeout 895s") {
			t.Errorf("%q: want a timeout of 895 s", l)
		}
	}
	s.write(filepath.Join(s.bin, "finds"), "racecheck")
	for range 5 { // the failing run may or may not be the last to end
		if out, rc := s.run([]string{"ONLY=scoring"}, "sanitize"); rc != 1 || !strings.Contains(out, "racecheck internal_papers_scoring: exit 86") {
			t.Errorf("exit %d: %s", rc, out)
		}
	}
}

func TestRunTestTimeout(t *testing.T) {
	s := newScript(t)
	if out, rc := s.run([]string{"TEST_SECONDS=300", "ONLY=decode"}, "tests"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	if l := s.log("tests.log"); !strings.Contains(l, "-test.timeout 295s") {
		t.Errorf("%q: want a timeout of 295 s", l)
	}
}

// A part that fails or prints notes does not damage other results. Output after the result
// of a part is not in the joined file.
func TestRunKeepsOtherResults(t *testing.T) {
	s := newScript(t)
	s.fake("load", `case "$*" in
*"--device cpu"*) printf '{\n  "highest_rate": 12.5\n}\n'; echo "a note" >&2 ;;
*10ms*) printf '{\n  "highest_rate": 4000.7\n}\n{\n  "error": {}\n}\n'; exit 1 ;;
*50ms*) printf '{\n  "highest_rate": ' ; exit 1 ;;
*) printf '{\n  "points": []\n}\n' ;;
esac
`)
	out, rc := s.run(nil, "load")
	if rc != 1 || !strings.Contains(out, "10ms: CPU 12 queries/s, both 4000") {
		t.Errorf("exit %d: %s", rc, out)
	}
	if l := s.log("griffin.log"); !strings.Contains(l, "--rate 2000,8000,2000") {
		t.Errorf("no overload at 2000, 8000 and 2000 in %s", l)
	}
	var all struct {
		Machine map[string]any
		Runs    map[string]map[string]any
	}
	files := s.results()
	if err := json.Unmarshal([]byte(files["load.json"]), &all); err != nil {
		t.Fatalf("%v in %s", err, files["load.json"])
	}
	if len(all.Runs) != 4 || all.Runs["load-cost-10ms"]["highest_rate"] != 4000.7 || all.Runs["load-overload"] == nil || all.Machine["bundle"] == nil {
		t.Errorf("%+v", all)
	}
	if files["load-cost-50ms.part"] == "" || files["load-cpu-10ms.txt"] != "a note\n" {
		t.Errorf("files %q", files)
	}
}

// Overload and soak fail with a message if load found no rate.
func TestRunWithoutRate(t *testing.T) {
	s := newScript(t)
	s.fake("load", `printf '{\n  "highest_rate": 0\n}\n'`)
	if out, rc := s.run(nil, "load", "soak"); rc != 1 || !strings.Contains(out, "overload: load found no rate") || !strings.Contains(out, "soak: set SOAK_RATE") {
		t.Errorf("exit %d: %s", rc, out)
	}
}

// A collection that cannot be generated is reported, and the following steps run.
func TestRunGoesOn(t *testing.T) {
	s := newScript(t)
	s.fake("generate-fails", "")
	out, rc := s.run(nil, "memory", "kernels")
	if !strings.Contains(out, "collection gov2-tb06-simdbp was not generated: no room") || !strings.Contains(out, "bench-internal_gpu_decode: exit 0") {
		t.Errorf("exit %d: %s", rc, out)
	}
	if out, rc := s.run(nil, "memory", "everythin"); rc != 2 || !strings.Contains(out, "no step everythin") || strings.Contains(out, "engine-") {
		t.Errorf("exit %d: %s", rc, out)
	}
}

// Each experiment of placing has its own process, and the pages of all records are written even
// if one fails.
func TestRunPlacing(t *testing.T) {
	s := newScript(t)
	s.fake("lab", `while [ $# -gt 0 ]; do [ "$1" != --out ] || mkdir -p "$2"; case "$1" in *-fig8) echo "it broke" >&2; exit 1 ;; esac; shift; done`)
	out, rc := s.run(nil, "placing")
	if rc != 1 || !strings.Contains(out, "it broke") || !strings.Contains(out, "placing-fig7: exit 0") {
		t.Errorf("exit %d: %s", rc, out)
	}
	if l := s.log("griffin.log"); !strings.Contains(l, "lab report -q --render") || strings.Count(l, "lab run ") != 3 {
		t.Error(l)
	}
}

// GPUs as griffin devices --json prints them; the second cannot be used.
const threeGPUs = `{
  "devices": [
    {
      "ordinal": 0,
      "memory_bytes": 8,
      "usable": true
    },
    {
      "ordinal": 1,
      "usable": false,
      "reason": "it does not open"
    },
    {
      "ordinal": 2,
      "usable": true
    }
  ]
}
`

// The numbers of GPUs take turns in each round, and the table has their ratios.
func TestRunSeveral(t *testing.T) {
	s := newScript(t)
	s.fake("devices", threeGPUs)
	s.fake("bench", `qps=1000.25
case "$*" in *"--device 0,2"*) qps=1890.5 ;; *"--device"*) ;; *) qps=10 ;; esac
printf '{\n  "latency_us": {\n    "all_runs": {\n      "p50": 20.5\n    },\n    "p50": 7\n  },\n  "qps": %s\n}\n' "$qps"`)
	s.fake("run", `while [ $# -gt 0 ]; do case $1 in --device) devices=$2 ;; --out) to=$2 ;; esac; shift; done
echo "1 Q0 d 1 $([ -e "$FAKE/wrong" ] && echo "$devices" || echo 2.5) griffin" >"$to"`)
	s.fake("load", `printf '{\n  "highest_rate": 4000.7\n}\n'`)
	env := []string{"COLLECTIONS=gov2-tb06", "MODES=or"}
	out, rc := s.run(env, "several")
	if rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	for _, line := range []string{
		"gov2-tb06 or cpu, qps: 10 queries/s\n",
		"gov2-tb06 or batch-1000, qps by GPUs, 1: 1000.2, 2: 1890.5 (1.89) queries/s\n",
		"gov2-tb06 or replicas, qps by GPUs, 2: 1000.2 queries/s each\n",
		"gov2-tb06 or single, p50 by GPUs, 1: 20.5, 2: 20.5 (1.00) µs\n",
		"gov2-tb06 or shared-batch, qps by GPUs, 2: 1890.5 queries/s\n",
		"gov2-tb06 or http, highest_rate by GPUs, 1: 4000.7, 2: 4000.7 (1.00) queries/s with p99 under 10 ms\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no line %q in %s", line, out)
		}
	}
	log := s.log("griffin.log")
	for _, command := range []string{
		"--gpu-memory 10% --batch", "--gpu-layout ranges", "--gpu-memory 5.0%", "run -q --topics", "serve -q --addr 127.0.0.1:7280 --result-cache 0 --device 0,2 --resident=1000",
	} {
		if !strings.Contains(log, command) {
			t.Errorf("no %q in %s", command, log)
		}
	}
	var turns []string
	for l := range strings.Lines(log) {
		if _, rest, found := strings.Cut(l, "--device "); found && strings.Contains(l, "--resident=1000 --batch 1000 --threads ") && !strings.Contains(l, "--runs 1200 ") && !strings.Contains(l, "--gpu-layout") {
			turns = append(turns, strings.Fields(rest)[0])
			want := map[string]string{"0": "--threads 12 --runs 1000 ", "0,2": "--threads 24 --runs 2000 "}[turns[len(turns)-1]]
			if !strings.Contains(l, want) {
				t.Errorf("want %s: %s", want, l)
			}
		}
	}
	if got := strings.Join(turns, " "); got != "0 0,2 0 0,2" {
		t.Errorf("batches on GPUs %s", got)
	}
	for _, test := range []string{"-test.run ^TestGPUQueryLog$", "-test.run ^TestGPULostUnderLoad$"} {
		if l := s.log("tests.log"); !strings.Contains(l, test) {
			t.Errorf("no %s in %s", test, l)
		}
	}
	files := s.results()
	if text := files["several.json"]; !json.Valid([]byte(text)) || !strings.Contains(text, `"several-gov2-tb06-or-batch-10000-2gpu-1": {`) || !strings.Contains(text, `"equal": true`) {
		t.Errorf("several.json is %s", text)
	}

	s.fake("wrong", "")
	if out, rc := s.run(append(env, "PARTS=answers"), "several"); rc != 1 || !strings.Contains(s.results()["several.json"], `"equal": false`) {
		t.Errorf("other answers: exit %d: %s", rc, out)
	}
	if out, rc := s.run(append(env, "PARTS=answer"), "several"); rc != 1 || !strings.Contains(out, "no part answer") {
		t.Errorf("exit %d: %s", rc, out)
	}
	s.fake("devices", `{"devices": []}`)
	if out, rc := s.run(env, "several"); rc != 1 || !strings.Contains(out, "0 usable GPUs, want two or more") {
		t.Errorf("exit %d: %s", rc, out)
	}
}

// A run that gets SIGTERM within a part keeps the earlier results.
func TestRunTerminated(t *testing.T) {
	s := newScript(t)
	s.fake("load", `trap 'printf "{\n  \"cut\": true\n}\n"; exit 130' TERM
echo $$ >"$FAKE/at"
for ((i = 0; i < 3000; i++)); do sleep 0.1; done`)
	c := s.command([]string{"SOAK_RATE=5"}, "soak")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.until(func() bool { return s.log("at") != "" })
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != 143 {
		t.Errorf("%v: %s", err, &out)
	}
	if got := s.results()["load-soak.part"]; !strings.Contains(got, "cut") {
		t.Errorf("result of the soak is %q", got)
	}
}

// Only a failing test waits for this time.
const maxWait = 3 * time.Minute

func (s *script) until(f func() bool) {
	s.t.Helper()
	for began := time.Now(); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > maxWait {
			s.t.Fatalf("the condition does not hold after %v", maxWait)
		}
	}
}

// Steps in their own session survive the call that starts them. A later call reports their
// progress and collects the results, and another one waits for their end.
func TestRunStartAndWait(t *testing.T) {
	s := newScript(t)
	// The soak runs until the test creates the file enough.
	s.fake("load", `while [ $# -gt 0 ]; do [ "$1" != --readings ] || readings=$2; shift; done
echo '{"at_ns": 1}' >"$readings"
while [ ! -e "$FAKE/enough" ]; do sleep 0.05; done
echo '{"at_ns": 2}' >>"$readings"
printf '{\n  "verdict": {"passed": true}\n}\n'`)
	if out, rc := s.run(nil, "wait"); rc != 1 || !strings.Contains(out, "nothing was started") {
		t.Errorf("exit %d: %s", rc, out)
	}
	if out, rc := s.run(nil, "start", "soack"); rc != 2 {
		t.Errorf("exit %d: %s", rc, out)
	}
	if out, rc := s.run([]string{"SOAK_RATE=5", "SOAK_SECONDS=1800"}, "start", "info", "soak"); rc != 0 || !strings.Contains(out, "started: info soak") {
		t.Fatalf("exit %d: %s", rc, out)
	}
	defer s.run(nil, "stop")
	s.until(func() bool { return strings.Contains(s.log("griffin.log"), "--soak") })
	for _, args := range [][]string{{"start", "info"}, {"kernels"}} {
		if out, rc := s.run(nil, args...); rc != 1 || !strings.Contains(out, "steps are running: info soak") {
			t.Errorf("%q while steps run: exit %d: %s", args, rc, out)
		}
	}
	s.until(func() bool {
		_, rc := s.run([]string{"WAIT_SECONDS=0"}, "wait")
		if rc != 75 {
			t.Fatalf("exit %d while the steps run, want 75", rc)
		}
		return s.results()["soak.jsonl"] == "{\"at_ns\": 1}\n"
	})
	s.fake("enough", "")
	out, rc := s.run(nil, "wait")
	if rc != 0 || !strings.Contains(out, "load-soak: exit 0") || !strings.Contains(out, "ended: info soak, exit 0") || strings.Contains(out, "bundle") {
		t.Errorf("exit %d: %s: want the output since the last call", rc, out)
	}
	files := s.results()
	if !strings.Contains(files["load.json"], `"load-soak": {`) || files["machine.json"] == "" || files["soak.jsonl"] != "{\"at_ns\": 1}\n{\"at_ns\": 2}\n" {
		t.Errorf("files %q", files)
	}
	if l := s.log("griffin.log"); !strings.Contains(l, "--for 1800s") {
		t.Errorf("no soak of 1800 s in %s", l)
	}
	if out, rc := s.run([]string{"ONLY=decode"}, "kernels"); rc != 0 {
		t.Errorf("after the end: exit %d: %s", rc, out)
	}
}

// If steps end while wait collects their results, they are reported as ended only once all
// results are collected.
func TestRunEndsWhileBrought(t *testing.T) {
	s := newScript(t)
	s.fake("load", `while [ ! -e "$FAKE/enough" ]; do sleep 0.05; done
printf '{\n  "verdict": {"passed": true}\n}\n'`)
	// The steps end after wait has packed and before it continues.
	tar, err := exec.LookPath("tar")
	if err != nil {
		t.Fatal(err)
	}
	s.fake("tar", fmt.Sprintf(`#!/usr/bin/env bash
%s "$@" || exit
[ -z "${END_THEM-}" ] || { touch "$FAKE/enough"; while [ ! -s "$WORK/started/rc" ]; do sleep 0.05; done; }
`, tar))
	if out, rc := s.run([]string{"SOAK_RATE=5"}, "start", "soak"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	defer s.run(nil, "stop")
	s.until(func() bool { return strings.Contains(s.log("griffin.log"), "--soak") })
	if out, rc := s.run([]string{"END_THEM=1", "WAIT_SECONDS=0"}, "wait"); rc != 75 && s.results()["load-soak.json"] == "" {
		t.Errorf("exit %d without the result: %s", rc, out)
	}
	out, rc := s.run(nil, "wait")
	if rc != 0 || !strings.Contains(out, "load-soak: exit 0") || s.results()["load-soak.json"] == "" {
		t.Errorf("exit %d: %s", rc, out)
	}
}

func TestRunStop(t *testing.T) {
	s := newScript(t)
	s.fake("load", `trap 'echo cut; exit 130' TERM
touch "$FAKE/at"
for ((i = 0; i < 3000; i++)); do sleep 0.1; done`)
	if out, rc := s.run([]string{"SOAK_RATE=5"}, "start", "soak"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	s.until(func() bool { _, err := os.Stat(filepath.Join(s.bin, "at")); return err == nil })
	out, rc := s.run(nil, "stop")
	if rc != 143 || !strings.Contains(out, "ended: soak, exit 143") || s.results()["load-soak.part"] != "cut\n" {
		t.Errorf("exit %d: %s", rc, out)
	}
}

// No process is left.
func TestRunStopGenerating(t *testing.T) {
	s := newScript(t)
	s.fake("generate-waits", "")
	if out, rc := s.run([]string{"SOAK_RATE=5"}, "start", "soak"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, out)
	}
	var pid int
	s.until(func() bool { n, _ := fmt.Sscan(s.log("at"), &pid); return n == 1 })
	if out, rc := s.run(nil, "stop"); rc != 143 || !strings.Contains(out, "ended: soak, exit 143") {
		t.Errorf("exit %d: %s", rc, out)
	}
	s.until(func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// SIGKILL keeps the earlier results, including the current part's.
func TestRunKilled(t *testing.T) {
	s := newScript(t)
	s.fake("load", `while [ $# -gt 0 ]; do [ "$1" != --readings ] || echo '{"at_ns": 1}' >"$2"; shift; done
echo $$ >"$FAKE/at"
for ((i = 0; i < 3000; i++)); do sleep 0.1; done`)
	c := s.command([]string{"SOAK_RATE=5", "PACK_SECONDS=0.1"}, "soak")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its packing is killed too
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.until(func() bool {
		_, err := os.Stat(filepath.Join(s.out, "results.tgz"))
		return err == nil && strings.HasSuffix(s.log("at"), "\n") && s.results()["soak.jsonl"] != ""
	})
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the error says killed
	var left int // timeout puts its command in a process group of its own
	if _, err := fmt.Sscan(s.log("at"), &left); err != nil || syscall.Kill(left, syscall.SIGKILL) != nil {
		t.Errorf("griffin, process %d, has ended (%v)", left, err)
	}
	if got := s.results()["soak.jsonl"]; got != "{\"at_ns\": 1}\n" {
		t.Errorf("readings %q", got)
	}
}

// Each policy measures on a copy of the collection.
func TestRunLiving(t *testing.T) {
	s := newScript(t)
	if out, rc := s.run([]string{"RATE=500"}, "living"); rc != 0 {
		t.Fatalf("exit %d:\n%s", rc, out)
	}
	lines := strings.Split(strings.TrimSpace(s.log("updates.log")), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d measurements:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, want := range []string{"--device gpu --policy gpu", "--device gpu --policy cost", "--device cpu --policy cpu"} {
		if !strings.Contains(lines[i], want+" --rate 500") || !strings.Contains(lines[i], filepath.Join(s.work, "living")+" ") {
			t.Errorf("measurement %d: %s, want %s", i, lines[i], want)
		}
	}
	if _, err := os.Stat(filepath.Join(s.work, "gov2-tb06-simdbp", "changed")); err == nil {
		t.Error("the collection was changed")
	}
	if log := s.log("griffin.log"); !strings.Contains(log, "--docs 4000000") {
		t.Errorf("generated by %s", log)
	}
	if r := s.results()["living.json"]; !json.Valid([]byte(r)) || strings.Count(r, "updates") != 3 {
		t.Errorf("results %q", r)
	}
}

// Queries of other kinds are measured on the collection without typed fields.
func TestRunWords(t *testing.T) {
	s := newScript(t)
	out, rc := s.run([]string{"FIGURE_SECONDS=1", "COLLECTION_DOCS=5000"}, "words")
	if rc != 0 || !strings.Contains(out, "measured\n") {
		t.Fatalf("exit %d:\n%s", rc, out)
	}
	if log := s.log("filters.log"); !strings.Contains(log, "-index "+filepath.Join(s.work, "gov2-tb06-simdbp")+" ") || !strings.Contains(log, "-seconds 1 -words") {
		t.Errorf("measured by %s", log)
	}
	if r := s.results()["words.json"]; !json.Valid([]byte(r)) || !strings.Contains(r, `"words-gov2": {`) {
		t.Errorf("results %q", r)
	}
}

// The collection has typed fields, and another name than one without.
func TestRunFilters(t *testing.T) {
	s := newScript(t)
	out, rc := s.run([]string{"FIGURE_SECONDS=1", "COLLECTION_DOCS=5000"}, "filters")
	if rc != 0 || !strings.Contains(out, "measured\n") {
		t.Fatalf("exit %d:\n%s", rc, out)
	}
	if log := s.log("griffin.log"); !strings.Contains(log, "--typed") || !strings.Contains(log, "--docs 5000") {
		t.Errorf("generated by %s", log)
	}
	if log := s.log("filters.log"); !strings.Contains(log, "-index "+filepath.Join(s.work, "gov2-tb06-simdbp-typed")+" ") || !strings.Contains(log, "-seconds 1") {
		t.Errorf("measured by %s", log)
	}
	if r := s.results()["filters.json"]; !json.Valid([]byte(r)) || !strings.Contains(r, `"filters-gov2": {`) {
		t.Errorf("results %q", r)
	}
}
