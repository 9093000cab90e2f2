package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is left of the time of make test is shared out among the fuzz targets, with no more
// for each than was asked for, and no less than a second.
func TestFuzzWithin(t *testing.T) {
	targets, err := os.ReadFile("testdata/fuzz.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // with ten targets, so that the shares are round
	ten := strings.Join(strings.SplitAfterN(string(targets), "\n", 11)[:10], "")
	script, err := os.ReadFile(filepath.Join(root, ".ci", "fuzz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"internal/arch/testdata/fuzz.txt": ten, ".ci/fuzz": string(script)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ within, time, want string }{
		{"1000", "5s", "5000ms"}, {"35", "5s", "3000ms"}, {"5", "5s", "1000ms"}, {"-7", "5s", "1000ms"}, {"35", "2s", "2000ms"}, {"5", "1m", "1m"},
	} {
		got, err := exec.Command("bash", filepath.Join(dir, ".ci", "fuzz"), "--within", c.within, c.time).Output()
		if err != nil || strings.TrimSpace(string(got)) != c.want {
			t.Errorf("%s of %s s: %q, %v; want %s", c.time, c.within, got, err, c.want)
		}
	}
}
