package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"

	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

const copyBytes = 1 << 20

// copyFile copies f to a new file and syncs it. progress receives the bytes of each step.
func copyFile(ctx context.Context, fsys vfs.FS, f io.Reader, to string, progress func(int64)) (n int64, err error) {
	out, err := fsys.Create(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buffer := make([]byte, copyBytes)
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := io.ReadFull(f, buffer)
		if m > 0 {
			if _, err := out.Write(buffer[:m]); err != nil {
				return n, vfs.PathError("write", to, err)
			}
			n += int64(m)
			progress(int64(m))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return n, out.Sync()
		}
		if err != nil {
			return n, err
		}
	}
}

// verifySealed checks every byte of a file of an index and returns the checksum of its checksums.
func verifySealed(ctx context.Context, fsys vfs.FS, name string) (sum uint32, err error) {
	kind, err := kindOf(fsys, name)
	if err != nil {
		return 0, err
	}
	f, err := sealed.Open(fsys, name, kind, math.MaxUint32)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sum(), f.Verify(ctx, nil)
}

// kindOf reads the kind from the header, which Open then verifies.
func kindOf(fsys vfs.FS, name string) (string, error) {
	const offset, length = 8, 8 // docs/formats/sealed.md
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	kind := make([]byte, length)
	_, err = f.ReadAt(kind, offset)
	if errors.Is(err, io.EOF) {
		err = nil // too short: Open reports it
	}
	return string(bytes.TrimRight(kind, "\x00")), errors.Join(err, f.Close())
}
