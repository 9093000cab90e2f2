package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// assemble returns the words of a body, and its labels and instructions, trimmed.
func assemble(body string) (words []uint32, lines []string, err error) {
	instructions := 0
	for l := range strings.Lines(body) {
		if l = strings.Join(strings.Fields(l), " "); l == "" {
			continue
		}
		lines = append(lines, l)
		if !strings.HasSuffix(l, ":") {
			instructions++
		}
	}
	text, err := object(strings.Join(lines, "\n") + "\n")
	if err != nil {
		return nil, nil, err
	}
	if len(text) != 4*instructions {
		return nil, nil, fmt.Errorf("%d instructions have %d bytes", instructions, len(text))
	}
	for i := 0; i < len(text); i += 4 {
		words = append(words, binary.LittleEndian.Uint32(text[i:]))
	}
	return words, lines, nil
}

// object returns the code of a source without references to other symbols.
func object(source string) ([]byte, error) {
	clang := os.Getenv("GRIFFIN_CLANG")
	if clang == "" {
		clang = "clang-19"
	}
	directory, err := os.MkdirTemp("", "neon")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "kernel.o")
	cmd := exec.Command(clang, "--target=aarch64-none-elf", "-march=armv8-a", "-x", "assembler", "-c", "-o", path, "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", clang, err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Section(".rela.text") != nil {
		return nil, fmt.Errorf("the code has relocations")
	}
	return f.Section(".text").Data()
}
