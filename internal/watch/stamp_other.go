//go:build !linux

package watch

import "os"

func changeTime(os.FileInfo) int64 { return 0 }
