//go:build unix

package watch

import (
	"os"
	"syscall"
)

func deviceOf(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev) //nolint:unconvert // its type differs between systems
	}
	return 0
}
