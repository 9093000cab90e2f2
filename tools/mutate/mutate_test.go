package main

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
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

// The tests have a hole at 0: boundaries survive, all other mutants are killed.
func TestMutate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module sign\ngo 1.26\n", "sign.go": module, "sign_test.go": tests, "equivalent.txt": "",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Chdir(dir)
	all, err := findMutants(".", "")
	if err != nil || len(all) != 8 {
		t.Fatalf("%d mutants, %v; want 8", len(all), err)
	}
	s := settings{mutants: 100, jobs: 2, limit: time.Hour}
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

// No test could or should find changed text and capacities.
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

// The tests fail without a mutation.
func TestFailingTests(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module p\ngo 1.26\n", "p.go": "package p\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestP(t *testing.T) { t.Fail() }\n",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := timeLimit(t.Context(), settings{timeout: time.Hour}, []string{"."}); err == nil {
		t.Error("no error")
	}
}

// The tests get too little time at first, as on a machine that became slower.
func TestLate(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module p\ngo 1.26\n",
		"p.go":   "package p\n\nfunc f() (n int) {\n\tfor n = 1; n < 4; n += n {\n\t}\n\treturn n\n}\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif f() < 4 {\n\t\tt.Fail()\n\t}\n}\n\n" +
			"func TestNothing(*testing.T) {}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := findMutants(".", "")
	if err != nil {
		t.Fatal(err)
	}
	s := settings{limit: 1, run: "F"}
	for what, want := range map[string]verdict{"assignment removed": late, "< becomes >=": killed, "< becomes <=": survived} {
		s.timeout = 3 * time.Minute
		if want == late {
			s.timeout = 3 * time.Second
		}
		i := slices.IndexFunc(all, func(m mutant) bool { return m.what == what })
		if got, by, err := judge(t.Context(), s, &all[i], []string{"."}, nil); got != want || err != nil {
			t.Errorf("%s: verdict %d by %q, %v; want %d", what, got, by, err, want)
		}
	}
	s.run = "Nothing"
	i := slices.IndexFunc(all, func(m mutant) bool { return m.what == "< becomes >=" })
	if got, _, err := judge(t.Context(), s, &all[i], []string{"."}, nil); got != survived || err != nil {
		t.Errorf("without TestF: verdict %d, %v; want %d", got, err, survived)
	}
}

// Equal changes of a line have different keys.
func TestKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.go", []byte("package p\n\nfunc f(a, b, c bool) bool { return a || b || c } // why\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := findMutants(".", "")
	if err != nil || len(all) != 2 || all[0].key() == all[1].key() || strings.Contains(all[0].key(), "why") {
		t.Errorf("%v, %v; want two mutants with different keys, without the comment", all, err)
	}
}

// Each entry of equivalent.txt is a mutant of the present code. Comments do not count.
func TestEquivalentsExist(t *testing.T) {
	known, err := readKeys("equivalent.txt")
	if err != nil || len(known) == 0 {
		t.Fatalf("%d entries, %v", len(known), err)
	}
	t.Chdir("../..")
	found := map[string]map[string]bool{}
	for key := range known {
		file, _, _ := strings.Cut(key, " | ")
		dir := filepath.Dir(file)
		if found[dir] == nil {
			all, err := findMutants(dir, "invariants")
			if err != nil {
				t.Fatal(err)
			}
			found[dir] = map[string]bool{}
			for _, m := range all {
				found[dir][m.key()] = true
			}
		}
		if !found[dir][key] {
			t.Errorf("no mutant is %s", key)
		}
	}
}

// The values are published: with no survivor the lower limit is 0.05^(1/n).
func TestProved(t *testing.T) {
	for _, c := range []struct {
		killed, survived int
		want             float64
	}{{59, 0, 95.05}, {25, 0, 88.71}, {24, 1, 82.39}, {18, 2, 71.74}, {0, 5, 0}, {0, 0, 0}} {
		if got := (tally{killed: c.killed, survived: c.survived}).proved(); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%d killed, %d survived: %.2f %%, want %.2f %%", c.killed, c.survived, got, c.want)
		}
	}
}

// One program with all mutants gives the verdicts of a program for each.
func TestWholeAgreesWithSingle(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module p\ngo 1.26\n",
		"p.go": `package p

func f(a []int, most int) (sum int, err error) {
	for i := 0; i < len(a); i++ {
		if v := a[i]; v > most && most >= 0 || v == 7 {
			continue
		}
		sum += a[i] << 1
	}
	if _, err = check(sum); err != nil {
		return 0, err
	}
	last, err = nil, error(nil)
	return sum / 2, nil
}

var last []int

func check(n int) (int, error) { return n | 1, nil }
`,
		"p_test.go": `package p

import "testing"

func TestF(t *testing.T) {
	for most, want := range map[int]int{-1: 15, 3: 6, 5: 15} {
		if got, err := f([]int{1, 2, 7, 3, 4, 5}, most); got != want || err != nil {
			t.Errorf("%d, %v; want %d", got, err, want)
		}
	}
}

func TestNothing(*testing.T) {}
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := findMutants(".", "")
	if err != nil {
		t.Fatal(err)
	}
	s := settings{timeout: 20 * time.Second, limit: 5 * time.Second, jobs: 2}
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := newSchema(t.Context(), s, dir, all, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	whole := c.suite(".")
	if err := whole.save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := loadSuites(filepath.Dir(dir))
	if err != nil || len(loaded) != 1 || !reflect.DeepEqual(loaded[0], whole) {
		t.Fatalf("loaded %v, %v; want %v", loaded, err, whole)
	}
	tests, err := whole.record(t.Context(), s)
	if err != nil || len(tests) != 2 {
		t.Fatalf("%d tests, %v", len(tests), err)
	}
	verdicts := map[verdict]int{}
	for n := range all {
		if c.without[n] {
			t.Logf("apart: %s", all[n].key())
			continue
		}
		got, _, err := whole.judge(t.Context(), s, n, tests, false)
		if got == survived && err == nil {
			got, _, err = whole.judge(t.Context(), s, n, tests, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		verdicts[got]++
		if n%4 != 0 && got != late {
			continue // compiling each takes too long
		}
		if want, _, err := judge(t.Context(), s, &all[n], []string{"."}, nil); err != nil || got != want {
			t.Errorf("%s: verdict %d, one by one %d, %v", all[n].key(), got, want, err)
		}
	}
	if len(c.without) > 2 || verdicts[killed] < 10 || verdicts[survived] == 0 {
		t.Errorf("%d mutants, %d apart, verdicts %v", len(all), len(c.without), verdicts)
	}
}

// Verdicts of an earlier run are kept, and a damaged file is an error.
func TestResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	for i, want := range []map[string]verdict{{}, {"a | b": survived}, {"a | b": survived, "c": late}} {
		r, err := openResults(path)
		if err != nil || !maps.Equal(r.verdicts, want) {
			t.Fatalf("run %d: %v, %v; want %v", i, r.verdicts, err, want)
		}
		key, v := "a | b", survived
		if i == 1 {
			key, v = "c", late
		}
		if err := errors.Join(r.add(key, v, "TestX"), r.close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("killed\tkey\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openResults(path); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a line without a test: %v", err)
	}
}
