package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fuzzRepository has .ci/fuzz, 20 targets in packages p0 to p9, a second commit that changes p1,
// p3, p7 and p8 and a text of p5, and a go command whose test binaries do nothing.
func fuzzRepository(t *testing.T) (dir string, targets []string) {
	t.Helper()
	dir = t.TempDir()
	script, err := os.ReadFile(filepath.Join(root, ".ci", "fuzz"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		for _, name := range []string{"FuzzA", "FuzzB"} {
			targets = append(targets, "./p"+string(rune('0'+i))+" "+name)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git := func(arguments ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, arguments...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
	}
	write(".ci/fuzz", string(script))
	write(".gitignore", "/.build/\n/bin/\n")
	write("internal/arch/testdata/fuzz.txt", strings.Join(targets, "\n")+"\n")
	write("bin/go", "#!/usr/bin/env bash\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\n' >\"$2\"\nchmod +x \"$2\"\n")
	for i := range 10 {
		write("p"+string(rune('0'+i))+"/x.go", "package p\n")
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	write("p1/x_amd64.s", "// assembly\n")
	write("p3/x.go", "package p // changed\n")
	write("p5/README.md", "text\n")
	write("p7/testdata/fuzz/FuzzA/1", "input\n")
	write("p8/x.cuh", "// kernel\n")
	git("add", "-A")
	git("commit", "-q", "-m", "two")
	return dir, targets
}

func fuzzed(t *testing.T, dir, seed string, arguments ...string) (ran []string) {
	t.Helper()
	command := exec.Command("bash", append([]string{filepath.Join(dir, ".ci", "fuzz")}, arguments...)...)
	command.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "GRIFFIN_BASE=HEAD~1", "GRIFFIN_SEED="+seed)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("fuzz %v: %v\n%s", arguments, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if target, is := strings.CutPrefix(strings.TrimSpace(line), "fuzz ./"); is {
			ran = append(ran, "./"+target)
		}
	}
	return ran
}

func TestFuzzScript(t *testing.T) {
	dir, targets := fuzzRepository(t)
	t.Run("all", func(t *testing.T) {
		if got := fuzzed(t, dir, "1", "all", "1s"); !slices.Equal(got, targets) {
			t.Errorf("ran %q, want all targets in their order", got)
		}
	})
	t.Run("some", func(t *testing.T) {
		got := fuzzed(t, dir, "1", "some", "60")
		if len(got) != len(targets) {
			t.Fatalf("ran %d targets in a time that is enough for all %d", len(got), len(targets))
		}
		first := slices.Sorted(slices.Values(got[:8]))
		want := []string{
			"./p1 FuzzA", "./p1 FuzzB", "./p3 FuzzA", "./p3 FuzzB", "./p7 FuzzA", "./p7 FuzzB", "./p8 FuzzA", "./p8 FuzzB",
		}
		if !slices.Equal(first, want) {
			t.Errorf("first ran %q, want those of the changed packages %q", first, want)
		}
		if again := fuzzed(t, dir, "1", "some", "60"); !slices.Equal(got, again) {
			t.Errorf("one seed gave the orders %q and %q", got, again)
		}
		if other := fuzzed(t, dir, "2", "some", "60"); slices.Equal(got, other) {
			t.Errorf("two seeds gave the order %q", got)
		}
	})
	t.Run("no time", func(t *testing.T) {
		if got := fuzzed(t, dir, "1", "some", "0"); len(got) != 0 {
			t.Errorf("ran %q in no time", got)
		}
	})
}
