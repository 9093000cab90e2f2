//go:build linux && (amd64 || arm64) && !nogpu

package cuda

import "github.com/ebitengine/purego"

const noDriver = ""

// openNative keeps the library's symbols private.
func openNative(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbolNative(handle uintptr, name string) (uintptr, error) {
	return purego.Dlsym(handle, name)
}

// callNative calls a C function of integers and pointers that returns an int.
// It allocates nothing: purego uses args in place.
func callNative(address uintptr, args []uintptr) int32 {
	r, _, _ := purego.SyscallN(address, args...)
	return int32(r)
}
