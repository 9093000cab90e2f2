package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// readFile parses a file, "-" being standard input; errors name the file.
func readFile[T any](path string, parse func(io.Reader) (T, error)) (T, error) {
	var zero T
	in := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return zero, err
		}
		defer f.Close()
		in = f
	}
	v, err := parse(bufio.NewReaderSize(in, 1<<16))
	if err != nil {
		return zero, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// writeFile writes a file through a temporary one beside it, so that a reader
// sees all of it or what was there before; "-" is standard output.
func (a *app) writeFile(path string, write func(io.Writer) error) (err error) {
	if path == "-" {
		return flushed(a.out, write)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := flushed(f, write); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func flushed(w io.Writer, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}
