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

// interruptible is a reader whose Read returns when ctx ends, even if the input blocks. Do not
// read the input afterwards.
type interruptible struct {
	ctx context.Context // of the command; the reader does not outlive it
	io.Reader
}

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

// readFile parses a file, or stdin for "-". Errors name the file.
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

// writeFile replaces a file atomically, through a temporary file beside it, but writes directly
// to devices and pipes; "-" is standard output.
func (con *console) writeFile(path string, write func(io.Writer) error) (err error) {
	if path == "-" {
		return flushed(con.out, write)
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

// checkOutputs returns an error if writeFile could not write a file, so that a command fails
// before its work. It ignores "".
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

func overwrite(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(flushed(f, write), f.Close())
}

// createBeside creates a hidden file in the folder of path, which errors name.
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
