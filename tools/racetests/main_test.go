package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeTree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
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

func TestList(t *testing.T) {
	root := writeTree(t, map[string]string{
		"root.go":      "package root\nfunc Start() { go func() {}() }\n",
		"root_test.go": "package root\nfunc TestStart(t *testing.T) { Start() }\nfunc TestQuiet(t *testing.T) {}\nfunc TestMain(m *testing.M) { Start() }\n",
		"a/a.go":       "package a\ntype T int\nfunc (T) run() { var wg sync.WaitGroup; wg.Go(nil) }\nfunc Use(t T) { t.run() }\n",
		"a/a_test.go": "package a\nfunc helper() { Use(0) }\nfunc TestHelper(t *testing.T) { helper() }\n" +
			"func TestPassed(t *testing.T) { call(Use) }\nfunc TestSupport(t *testing.T) { atest.Run() }\nfunc TestNone(t *testing.T) { other() }\n",
		"a/atest/atest.go":       "package atest\nfunc Run() { a.Use(0) }\n",
		"b/b_test.go":            "package b\nfunc TestOtherPackage(t *testing.T) { root.Start() }\n",
		"c/c_test.go":            "package c\nfunc TestServer(t *testing.T) { httptest.NewServer(nil) }\n",
		"tools/x/x_test.go":      "package x\nfunc TestTool(t *testing.T) { go f() }\n",
		"testdata/bad_test.go":   "not Go",
		"internal/inverter/i.go": "package inverter\nfunc Invert() { go f() }\n",
		"d/d_test.go":            "package d\nfunc TestInverts(t *testing.T) { inverter.Invert() }\n",
	})
	var out strings.Builder
	if err := list(&out, root, false); err != nil {
		t.Fatal(err)
	}
	want := ".\n./a\n./c\n./d\n-run\n^(TestHelper|TestInverts|TestPassed|TestServer|TestStart|TestSupport)$\n"
	if out.String() != want {
		t.Errorf("listed\n%swant\n%s", out.String(), want)
	}
}

// No listed test covers the package.
func TestUntested(t *testing.T) {
	root := writeTree(t, map[string]string{
		"a/a.go":      "package a\nfunc Start() { go f() }\n",
		"a/a_test.go": "package a\nfunc TestNone(t *testing.T) {}\n",
	})
	if err := list(new(strings.Builder), root, false); err == nil || !strings.Contains(err.Error(), "./a starts goroutines") {
		t.Errorf("error %v, want one that names ./a", err)
	}
}
