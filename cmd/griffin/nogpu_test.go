package main

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxStartUp is what the GPU code may add to the start of a command that does not
// ask for a GPU.
const maxStartUp = 5 * time.Millisecond

// buildGriffin builds the command without cgo and returns its path.
func buildGriffin(t *testing.T, tags string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "griffin")
	cmd := exec.Command("go", "build", "-tags", tags, "-o", out, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -tags %q: %v\n%s", tags, err, text)
	}
	return out
}

// TestNoGPUBuild builds with the tag nogpu and without: the first must be static
// and hold no loader, tell that it has no GPU support, and start no faster than
// the second by more than maxStartUp. With -v it prints the table of
// docs/benchmarks/startup.md.
func TestNoGPUBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary twice")
	}
	if runtime.GOOS != "linux" {
		t.Skip("there is no GPU support to leave out")
	}
	without, with := buildGriffin(t, "nogpu"), buildGriffin(t, "")

	f, err := elf.Open(without)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the binary built with nogpu is not static: it names a program interpreter")
	}
	if linksLoader(t, without) || !linksLoader(t, with) {
		t.Error("purego must be linked without the tag nogpu, and not with it")
	}
	text, err := exec.Command(without, "devices").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "built without GPU support: with the build tag nogpu") {
		t.Errorf("griffin devices = %s, %v, want that it was built without GPU support", text, err)
	}

	// What else the machine does only ever adds to a run, so the best of many runs
	// comes down to the start itself: a busy machine needs more of them.
	times := map[string][]time.Duration{}
	more := func() time.Duration { return slices.Min(times[with]) - slices.Min(times[without]) }
	for begin := time.Now(); len(times[with]) < 60 || more() > maxStartUp && time.Since(begin) < 2*time.Minute; {
		for _, binary := range []string{without, with} { // in turns, so that what else runs slows both alike
			start := time.Now()
			if err := exec.Command(binary, "version").Run(); err != nil {
				t.Fatal(err)
			}
			times[binary] = append(times[binary], time.Since(start))
		}
	}
	for binary, name := range map[string]string{without: "nogpu", with: "default"} {
		slices.Sort(times[binary])
		runs := len(times[binary])
		t.Logf("griffin version, %-7s  best %.1f ms, median %.1f ms of %d", name, ms(times[binary][0]), ms(times[binary][runs/2]), runs)
	}
	if more := more(); more > maxStartUp {
		t.Errorf("with GPU support a command starts %v later, want at most %v", more, maxStartUp)
	}
}

func linksLoader(t *testing.T, binary string) bool {
	t.Helper()
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/ebitengine/purego" {
			return true
		}
	}
	return false
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
