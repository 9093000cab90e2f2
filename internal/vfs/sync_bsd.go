//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import "os"

func syncData(f *os.File) error { return f.Sync() }

func syncDir(d *os.File) error { return d.Sync() }
