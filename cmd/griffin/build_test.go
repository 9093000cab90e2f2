package main

import (
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// maxInitBytes limits the memory that the GPU packages allocate before main in a command
	// without a GPU, as a bound of their start-up cost without measuring time.
	maxInitBytes  = 64 << 10
	maxSmallBytes = 24_700_000
	smallTags     = "nolab,nobuckets,nozones,nethttpomithttp2"
)

func buildGriffin(t testing.TB, tags string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "griffin")
	cmd := exec.Command("go", append([]string{"build", "-tags", tags, "-o", out}, append(flags, ".")...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -tags %q: %v\n%s", tags, err, text)
	}
	return out
}

// With the tag nogpu the binary is static, has no loader and reports the missing GPU support.
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
	if more := initBytes(t, with) - initBytes(t, without); more > maxInitBytes {
		t.Errorf("with GPU support a command allocates %d bytes more when it starts, want at most %d", more, maxInitBytes)
	}
}

// Time zones do not need a database of the machine, unless the tag leaves them out.
func TestZones(t *testing.T) {
	for tags, want := range map[string]bool{"": true, "nozones": false} {
		deps, err := exec.Command("go", "list", "-deps", "-tags", tags, ".").Output()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(strings.Fields(string(deps)), "time/tzdata") != want {
			t.Errorf("with the tags %q, the database of time zones is in the binary: %v, want %v", tags, !want, want)
		}
	}
}

// The small binary has no lab, no plots and no buckets.
func TestSmallBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	// As make build-small does. Without -trimpath the size depends on the paths of this machine.
	small := buildGriffin(t, smallTags, "-trimpath", "-ldflags=-s -w")
	info, err := os.Stat(small)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSmallBytes {
		t.Errorf("it has %d bytes, want at most %d: docs/benchmarks/binary.md shows what it is made of", info.Size(), maxSmallBytes)
	}
	for _, module := range linkedModules(t, small) {
		if strings.HasPrefix(module, "gonum.org/v1/plot") || strings.HasPrefix(module, "codeberg.org/go-fonts") || strings.HasPrefix(module, "gocloud.dev") {
			t.Errorf("it contains %s", module)
		}
	}
	for _, args := range [][]string{{"lab", "list"}, {"load", "x.idx", "--queries", "q.tsv", "--svg", "x.svg"}} {
		text, err := exec.Command(small, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(text), "with the build tag nolab") {
			t.Errorf("griffin %s = %s, %v, want that it was built without", strings.Join(args, " "), text, err)
		}
	}
	if text, err := exec.Command(small, "snapshot", "list", "s3://bucket").CombinedOutput(); err == nil || !strings.Contains(string(text), "has no buckets") {
		t.Errorf("griffin snapshot list s3://bucket = %s, %v, want that it was built without", text, err)
	}
}

func initBytes(t *testing.T, binary string) int {
	t.Helper()
	cmd := exec.Command(binary, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	sum, packages := 0, 0
	for line := range strings.Lines(string(text)) {
		// init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs
		var pkg string
		var at, clock float64
		var bytes, allocs int
		if n, _ := fmt.Sscanf(line, "init %s @%g ms, %g ms clock, %d bytes, %d allocs", &pkg, &at, &clock, &bytes, &allocs); n == 5 {
			sum += bytes
			packages++
		}
	}
	if packages < 10 {
		t.Fatalf("%d packages in\n%s", packages, text)
	}
	return sum
}

func linksLoader(t *testing.T, binary string) bool {
	t.Helper()
	return slices.Contains(linkedModules(t, binary), "github.com/ebitengine/purego")
}

func linkedModules(t *testing.T, binary string) []string {
	t.Helper()
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range info.Deps {
		paths = append(paths, d.Path)
	}
	return paths
}

// BenchmarkStartUp has the figures of docs/benchmarks/startup.md.
func BenchmarkStartUp(b *testing.B) {
	for _, tags := range []string{"nogpu", ""} {
		b.Run("tags="+tags, func(b *testing.B) {
			binary := buildGriffin(b, tags)
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := exec.Command(binary, "version").Run(); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[0].Microseconds())/1000, "ms-best")
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
		})
	}
}
