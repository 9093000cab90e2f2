package gputest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const constantsFile = "constants.cuh"

// Constant is a constant of a package under its name in kernels.
type Constant struct {
	Name  string
	Value int
}

// CheckConstants compares constants.cuh, in the folder of the package under
// test, with the constants of pkg. With update it writes the file first, for go
// generate.
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
		t.Errorf("%s does not match the constants: run go generate", constantsFile)
	}
}
