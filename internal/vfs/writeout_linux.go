package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func startWriting(f *os.File, offset, length int64) error {
	return unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE)
}

func awaitWriting(f *os.File, offset, length int64) error {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return unix.SyncFileRange(int(f.Fd()), offset, length, wait)
}
