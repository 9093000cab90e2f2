package main

import (
	"os"
	"path/filepath"
	"testing"
)

const module = `package sign

// Sign returns -1, 0 or 1.
func Sign(x int) int {
	if x < 0 {
		return -1
	}
	if x > 0 {
		return 1
	}
	return 0
}
`

const tests = `package sign

import "testing"

func TestSign(t *testing.T) {
	if Sign(5) != 1 || Sign(-5) != -1 {
		t.Fatal("wrong")
	}
}
`

// TestMutate tests a package whose tests have a hole at 0: x// boundaries survive, all others are killed.
func TestMutate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module sign\ngo 1.26\n", "sign.go": module, "sign_test.go": tests, "equivalent.txt": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	all, err := findMutants(".", "")
	if err != nil || len(all) != 8 {
		t.Fatalf("%d mutants, %v; want 8", len(all), err)
	}
	s := settings{mutants: 100, jobs: 2, timeout: 1 << 40}
	got, err := testMutants(t.Context(), s, all, []string{"."}, map[string]bool{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (tally{killed: 5, survived: 3}); got != want {
		t.Errorf("tally %v, want %v", got, want)
	}
	var boundary mutant
	for _, m := range all {
		if m.what == "< becomes <=" {
			boundary = m
		}
	}
	got, err = testMutants(t.Context(), s, []mutant{boundary}, []string{"."}, map[string]bool{boundary.key(): true})
	if want := (tally{equivalent: 1}); err != nil || got != want {
		t.Errorf("with an equivalent: %v, %v; want %v", got, err, want)
	}
}

// TestFindMutants checks that text and capacities, whose changes no test could or should
// find, are not changed.
func TestFindMutants(t *testing.T) {
	const text = `package p

func f(n int, s string) (string, []int, map[int]int) {
	var x []int
	x = slices.Grow(x, n+1)
	return "a" + s + "b", make([]int, n*2, n/2), make(map[int]int, n-1)
}
`
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.go", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := findMutants(".", "")
	if err != nil || len(all) != 1 || all[0].what != "* becomes +" {
		t.Errorf("%v, %v; want only the length of the slice", all, err)
	}
}

// TestFailingTests gives the tool tests that fail without a mutation.
func TestFailingTests(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module p\ngo 1.26\n", "p.go": "package p\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestP(t *testing.T) { t.Fail() }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := timeLimit(t.Context(), settings{timeout: 1 << 40}, []string{"."}); err == nil {
		t.Error("no error")
	}
}
