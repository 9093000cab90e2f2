//go:build !linux || (!amd64 && !arm64) || nogpu

package cuda

import (
	"errors"
	"runtime"
)

var noDriver = "griffin was built without GPU support: " + func() string {
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		return "with the build tag nogpu"
	}
	return "there is none for " + runtime.GOOS + "/" + runtime.GOARCH
}()

func openNative(string) (uintptr, error) { return 0, errors.New(noDriver) }

func symbolNative(uintptr, string) (uintptr, error) { return 0, errors.New(noDriver) }

func callNative(uintptr, []uintptr) int32 { return int32(NotSupported) }
