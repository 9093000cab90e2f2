package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func startWriting(f *os.File, offset, length int64) error {
	return unlessUnsupported(unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE))
}

func awaitWriting(f *os.File, offset, length int64) error {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return unlessUnsupported(unix.SyncFileRange(int(f.Fd()), offset, length, wait))
}

// The calls are hints: some file systems, sandboxes and versions of Windows' subsystem lack them.
func unlessUnsupported(err error) error {
	switch err {
	case unix.ENOSYS, unix.EPERM, unix.EINVAL, unix.ESPIPE, unix.EOPNOTSUPP:
		return nil
	}
	return err
}
