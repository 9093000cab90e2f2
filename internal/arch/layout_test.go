package arch

import (
	"flag"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/fuzz.txt from the tree")

func TestEveryPackageHasDoc(t *testing.T) {
	byPkg := map[string][]goFile{}
	for _, f := range goFiles(t) {
		byPkg[f.pkg] = append(byPkg[f.pkg], f)
	}
	for pkg, files := range byPkg {
		docs := 0
		for _, f := range files {
			base := path.Base(f.path)
			if base == "doc.go" || f.name == "main" && base == "main.go" { // a command's comment is its manual, next to main
				docs++
				if !f.doc {
					t.Errorf("%s has no package comment", f.path)
				}
			} else if f.doc && !f.test {
				t.Errorf("%s has a package comment: it belongs in %s", f.path, path.Join(pkg, "doc.go"))
			}
		}
		if docs == 0 {
			t.Errorf("package %s has no doc.go: say what it is for, what it is not for, its main types and its concurrency rule", pkg)
		}
	}
}

func TestNoDrawerPackages(t *testing.T) {
	for _, pkg := range packages(t) {
		switch base := path.Base(pkg); base {
		case "util", "utils", "common", "helper", "helpers", "manager", "misc":
			t.Errorf("package %s: name it after what it holds, or move what it holds to where it is used", pkg)
		}
	}
}

// TestFuzzTargetsAreRun checks that testdata/fuzz.txt, which make fuzz runs, lists exactly the
// fuzz targets.
func TestFuzzTargetsAreRun(t *testing.T) {
	const list = "testdata/fuzz.txt"
	var targets []string
	for _, f := range goFiles(t) {
		for _, name := range f.fuzz {
			targets = append(targets, "./"+f.pkg+" "+name)
		}
	}
	slices.Sort(targets)
	want := strings.ReplaceAll(strings.Join(targets, "\n")+"\n", "./. ", ". ")
	if *update {
		if err := os.WriteFile(list, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not the list of fuzz targets of the tree; run: make generate\ngot:\n%s\nwant:\n%s", list, got, want)
	}
}
