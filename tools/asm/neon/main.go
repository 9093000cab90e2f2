// Command neon writes the arm64 assembly of a package of internal/simd:
//
//	go run ./neon bitpack
//
// Kernels are written in Arm's syntax. clang assembles them, since Go's assembler lacks many
// vector instructions. The .s file has words, each with its instruction as a comment. Comments
// here describe only the differences from the Go reference.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

var families = map[string]func() *family{
	"accumulate": accumulate, "bitpack": bitpack, "column": column, "line": line, "scoring": scoring,
}

func main() {
	if len(os.Args) != 2 || families[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: neon PACKAGE, of internal/simd")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "neon:", err)
		os.Exit(1)
	}
}

func write(name string) error {
	assembly, stubs, err := families[name]().generate(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	directory := filepath.Join("..", "..", "internal", "simd", name)
	if err := os.WriteFile(filepath.Join(directory, name+"_arm64.s"), assembly, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "stubs_arm64.go"), stubs, 0o644)
}
