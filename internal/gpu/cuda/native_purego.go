//go:build linux && (amd64 || arm64) && !nogpu

package cuda

import "github.com/ebitengine/purego"

// noDriver is empty: this build can load a driver.
const noDriver = ""

// openNative loads a shared library with private symbols.
func openNative(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbolNative returns the address of an exported function.
func symbolNative(handle uintptr, name string) (uintptr, error) {
	return purego.Dlsym(handle, name)
}

// callNative calls a C function that takes integers and pointers and returns a
// C int. It allocates nothing: purego uses args in place.
func callNative(address uintptr, args []uintptr) int32 {
	r, _, _ := purego.SyscallN(address, args...)
	return int32(r)
}
