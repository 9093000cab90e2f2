//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package vfs

import (
	"errors"
	"os"
)

// Without mmap, Map reads the file.
func mapFile(*os.File, int) (*Mapping, error) { return nil, errors.ErrUnsupported }

func fileNumber(os.FileInfo) (device, number uint64) { return 0, 0 }

func hasNoName(*os.File) bool { return false }

func syncData(f *os.File) error { return f.Sync() }

// These systems cannot sync a folder.
func syncDir(*os.File) error { return nil }

func lockFile(*os.File) error { return errors.ErrUnsupported }
