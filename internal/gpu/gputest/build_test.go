package gputest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func objects(t *testing.T, root string, flags []string) map[string]string {
	t.Helper()
	units, err := findUnits(root, flags, flags)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, u := range units {
		if err := u.hash(root, root, "version"); err != nil {
			t.Fatal(err)
		}
		out[u.name] = filepath.Base(u.object)
	}
	return out
}

var small = map[string]string{
	"internal/gpu/emulator/src/device.hpp": "#pragma once\n",
	"internal/gpu/emulator/src/block.hpp":  "#pragma once\n",
	"internal/gpu/emulator/src/block.cpp":  "#include \"block.hpp\"\n",
	"internal/gpu/device/scan.cuh":         "#pragma once\n",
	"internal/gpu/a/a.cu":                  "#include \"../device/scan.cuh\"\n",
	"internal/gpu/b/b.cu":                  "int b;\n",
}

// An object is rebuilt if and only if an included file has changed.
func TestObjectsAreNamedByTheirText(t *testing.T) {
	before := objects(t, tree(t, small), nil)
	if len(before) != 3 {
		t.Fatalf("units %v, want a, b and the emulator's block", before)
	}
	for _, c := range []struct {
		change  string
		changed []string
	}{
		{"", nil}, // the same text in another folder
		{"internal/gpu/device/scan.cuh", []string{"a-a"}},
		{"internal/gpu/b/b.cu", []string{"b-b"}},
		{"internal/gpu/emulator/src/block.hpp", []string{"emulator-block"}},
		{"internal/gpu/emulator/src/device.hpp", []string{"a-a", "b-b"}},
	} {
		files := map[string]string{}
		for name, text := range small {
			files[name] = text
		}
		if c.change != "" {
			files[c.change] += "// changed\n"
		}
		var changed []string
		for name, object := range objects(t, tree(t, files), nil) {
			if object != before[name] {
				changed = append(changed, name)
			}
		}
		slices.Sort(changed)
		if !slices.Equal(changed, c.changed) {
			t.Errorf("%q changes %v, want %v", c.change, changed, c.changed)
		}
	}
	if other := objects(t, tree(t, small), []string{"-O1"}); other["b-b"] == before["b-b"] {
		t.Error("other flags, the same object")
	}
}

// Its own tests fail with the compiler's message. Other tests run without it,
// except in continuous integration.
func TestOneFamilyThatDoesNotCompile(t *testing.T) {
	if OnGPU() {
		t.Skip("a machine with a GPU needs no compiler")
	}
	files := map[string]string{
		"internal/gpu/emulator/src/device.hpp": "#pragma once\n",
		"internal/gpu/emulator/src/whole.cpp":  "extern \"C\" void __tsan_init() {}\n",
		"internal/gpu/good/good.cu":            "int good;\n",
		"internal/gpu/bad/bad.cu":              "int bad = nonsense;\n",
	}
	root := tree(t, files)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("CI", "")
	library, err := buildEmulator(root, "good")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := buildEmulator(root, "good"); err != nil || again != library {
		t.Errorf("the second build: %s, %v; want %s", again, err, library)
	}
	if _, err := buildEmulator(root, "bad"); err == nil || !strings.Contains(err.Error(), "bad-bad does not compile") || !strings.Contains(err.Error(), "internal/gpu/bad/bad.cu:1:11: error: use of undeclared identifier 'nonsense'") {
		t.Errorf("the family's own tests: %v", err)
	}
	t.Setenv("CI", "true")
	if _, err := buildEmulator(root, "good"); err == nil || !strings.Contains(err.Error(), "bad-bad does not compile") {
		t.Errorf("in continuous integration: %v", err)
	}
}

// If a compiler is killed, for example for lack of memory, the next build tries
// again.
func TestCompilerIsStopped(t *testing.T) {
	root := tree(t, map[string]string{"killed": "#!/bin/sh\nkill -9 $$\n"})
	compiler := filepath.Join(root, "killed")
	if err := os.Chmod(compiler, 0o755); err != nil {
		t.Fatal(err)
	}
	u := &unit{name: "a-a", object: filepath.Join(root, "a.o")}
	if err := u.compile(root, compiler); err == nil || !strings.Contains(err.Error(), "compiling a-a: signal: killed") {
		t.Errorf("error %v, want a killed compiler", err)
	}
	if _, err := os.Stat(u.object + ".log"); err == nil || u.log != "" {
		t.Errorf("the failure was stored: %q", u.log)
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("GRIFFIN_CXX", "no-such-compiler")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := buildEmulator(tree(t, small), "a")
	if err == nil || !strings.Contains(err.Error(), "install clang-19") || !strings.Contains(err.Error(), "no-such-compiler") {
		t.Errorf("without a compiler: %v, want the packages to install", err)
	}
}

func TestUnknownVariant(t *testing.T) {
	if OnGPU() {
		t.Skip("a machine with a GPU needs no compiler")
	}
	t.Setenv(BuildVariable, "swift")
	if _, err := buildEmulator(tree(t, small), "a"); err == nil || !strings.Contains(err.Error(), "GRIFFIN_EMULATOR=swift") {
		t.Errorf("an unknown variant: %v", err)
	}
}

func TestPruneOld(t *testing.T) {
	root := tree(t, map[string]string{"old.o": "", "new.o": "", "lock": ""})
	then := time.Now().Add(-15 * 24 * time.Hour)
	for _, name := range []string{"old.o", "lock"} {
		if err := os.Chtimes(filepath.Join(root, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if err := pruneOld(root); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 || entries[0].Name() != "lock" || entries[1].Name() != "new.o" {
		t.Errorf("left: %v, %v; want lock and new.o", entries, err)
	}
}
