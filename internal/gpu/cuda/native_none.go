//go:build !linux || (!amd64 && !arm64) || nogpu

package cuda

import (
	"errors"
	"runtime"
)

// noDriver is why this build cannot load a driver: "" where it can.
const noDriver = "this griffin was built without GPU support for " + runtime.GOOS + "/" + runtime.GOARCH +
	" (it is there on linux/amd64 and linux/arm64, without the build tag nogpu)"

func openNative(string) (uintptr, error) { return 0, errors.New(noDriver) }

func symbolNative(uintptr, string) (uintptr, error) { return 0, errors.New(noDriver) }

func callNative(uintptr, []uintptr) int32 { return int32(NotSupported) }
