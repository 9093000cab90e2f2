package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// interruptible is a reader whose Read ends with ctx, however long the input,
// say a person at a terminal, keeps it waiting. After that it must not be read.
type interruptible struct {
	ctx context.Context // of the command, as long as which the reader lives
	io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data := make([]byte, len(p)) // p is the caller's again if ctx ends first
		n, err := r.Reader.Read(data)
		done <- result{data[:n], err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case got := <-done:
		return copy(p, got.data), got.err
	}
}

// readFile parses a file, "-" being stdin; errors name the file.
func readFile[T any](ctx context.Context, stdin io.Reader, path string, parse func(io.Reader) (T, error)) (T, error) {
	var zero T
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return zero, err
		}
		defer f.Close()
		in = f
	}
	v, err := parse(bufio.NewReaderSize(interruptible{ctx, in}, 1<<16))
	if err != nil {
		return zero, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// writeFile writes a file through a temporary one beside it, so that a reader
// sees all of it or what was there before. Devices and pipes are written as they
// are; "-" is standard output.
func (a *app) writeFile(path string, write func(io.Writer) error) (err error) {
	if path == "-" {
		return flushed(a.out, write)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	mode := fs.FileMode(0o666) // less the umask
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return overwrite(path, write)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := createBeside(path, mode)
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
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// checkOutputs returns an error if one of the files could not be written by writeFile, so
// that this is not found out after the work whose result they are to hold. "" is no file.
func checkOutputs(paths ...string) error {
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			return &fs.PathError{Op: "create", Path: path, Err: errors.New("it is a folder")}
		case err == nil && !info.Mode().IsRegular():
			continue
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		f, err := createBeside(path, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// overwrite writes to what is at path: a device, a pipe.
func overwrite(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(flushed(f, write), f.Close())
}

// createBeside creates a hidden file in the folder of path. Errors are about path.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	name := fmt.Sprintf(".%s.%08x", filepath.Base(path), rand.Uint32())
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		return nil, &fs.PathError{Op: "create", Path: path, Err: wrapped.Err}
	}
	return f, err
}

func flushed(w io.Writer, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}
