package vfs

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

func startWriting(f *os.File, offset, length int64) error {
	return unlessUnsupported(unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE))
}

func awaitWriting(f *os.File, offset, length int64) error {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return unlessUnsupported(unix.SyncFileRange(int(f.Fd()), offset, length, wait))
}

func forget(f *os.File, offset, length int64) error {
	return unlessUnsupported(unix.Fadvise(int(f.Fd()), offset, length, unix.FADV_DONTNEED))
}

// The calls are hints: some file systems, sandboxes and Windows' subsystem for Linux lack them.
var unsupported = []error{unix.ENOSYS, unix.EPERM, unix.EINVAL, unix.ESPIPE, unix.EOPNOTSUPP}

func unlessUnsupported(err error) error {
	if slices.ContainsFunc(unsupported, func(u error) bool { return errors.Is(err, u) }) {
		return nil
	}
	return err
}
