package gputest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// constantsFile is where kernels of a family find the constants of its package.
const constantsFile = "constants.cuh"

// Constant is a constant of a package that its kernels know by a name of theirs.
type Constant struct {
	Name  string
	Value int
}

// CheckConstants reports an error if constants.cuh, in the folder of the package under
// test, does not say what constants say; pkg is the package's name. With update it
// writes the file first, which is how go generate does it.
func CheckConstants(t testing.TB, update bool, pkg string, constants []Constant) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "/* Made by go generate from the constants of package %s. */\n#pragma once\n\n", pkg)
	for _, c := range constants {
		fmt.Fprintf(&b, "constexpr uint32_t %s = %d;\n", c.Name, c.Value)
	}
	if update {
		if err := os.WriteFile(constantsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(constantsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what the constants say: go generate", constantsFile)
	}
}
