package cuda

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// LibraryVariable is the environment variable with the path or file name of the
// driver library.
const LibraryVariable = "GRIFFIN_CUDA_LIBRARY"

// minDriverVersion is the first that accepts PTX 8.0.
const minDriverVersion = 12000

// driverPaths is the search path: the system loader's, then containers, WSL and
// NixOS.
var driverPaths = []string{
	"libcuda.so.1",
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
}

// Library is a loaded driver library, which cannot be unloaded. Safe for
// concurrent use.
type Library struct {
	path    string
	handle  uintptr
	version int // 1000*major + 10*minor

	// addresses is by function: 0 before the first call, missing if the library
	// lacks it.
	addresses [numFunctions]atomic.Uintptr
}

// missing is no function's address.
const missing = 1

var (
	loadMutex sync.Mutex
	loaded    = map[string]*Library{}
)

// Load loads and initialises the driver library at path or, if path is "", the
// one that LibraryVariable names, or else the system's. The first load takes
// about 0.3 s; later calls return the same Library.
//
// Any error is an *Error that is ErrUnavailable, with the searched paths or the
// driver's message.
func Load(path string) (*Library, error) {
	if noDriver != "" {
		return nil, unavailable("load", "%s", noDriver)
	}
	paths, note := []string{path}, ""
	if path == "" {
		paths = driverPaths
		if env := os.Getenv(LibraryVariable); env != "" {
			paths, note = []string{env}, " ("+LibraryVariable+")"
		}
	}
	loadMutex.Lock()
	defer loadMutex.Unlock()
	if l := loaded[paths[0]]; l != nil {
		return l, nil
	}
	var reason string
	for i, p := range paths {
		handle, err := openNative(p)
		if err != nil {
			if i == 0 || fileExists(p) {
				reason += "; " + err.Error()
			}
			continue
		}
		l := &Library{path: p, handle: handle}
		if err := l.init(); err != nil {
			return nil, err
		}
		loaded[paths[0]] = l
		return l, nil
	}
	return nil, unavailable("load", "no NVIDIA driver library found; looked for %s%s%s", strings.Join(paths, ", "), note, reason)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (l *Library) init() error {
	err := l.check(fnInit, l.path, l.call(fnInit, 0))
	if err == nil {
		version := new(int32)
		err = l.check(fnDriverGetVersion, "", l.call(fnDriverGetVersion, uintptr(unsafe.Pointer(version))))
		l.version = int(*version)
	}
	if err == nil {
		return nil
	}
	if !err.Unavailable() { // after any initialisation error the driver is unusable
		err = &Error{Call: err.Call, Code: NoDriver, Name: err.Name, Detail: err.Detail}
	}
	return err
}

// Path returns the path that the library was loaded from.
func (l *Library) Path() string { return l.path }

// DriverVersion returns the driver's CUDA version, 1000*major + 10*minor.
func (l *Library) DriverVersion() int { return l.version }

func (l *Library) address(f function) uintptr {
	if a := l.addresses[f].Load(); a != 0 {
		return a
	}
	a, err := symbolNative(l.handle, functionNames[f])
	if err != nil || a == 0 {
		a = missing
	}
	l.addresses[f].Store(a)
	return a
}

func (l *Library) has(f function) bool { return l.address(f) != missing }

// call calls f. The caller has made a context current if f needs one. NoDriver
// means that the library lacks f. Memory whose pointer is converted in the
// argument list is on the heap and stays alive until call returns; for that,
// call allocates, unlike invoke.
//
//go:uintptrescapes
func (l *Library) call(f function, args ...uintptr) Code { return l.invoke(f, args) }

// invoke is call for arguments that the caller keeps in place and alive.
func (l *Library) invoke(f function, args []uintptr) Code {
	a := l.address(f)
	if a == missing {
		return NoDriver
	}
	return Code(callNative(a, args))
}

// check returns nil for Success. about is the subject of the call, or "".
func (l *Library) check(f function, about string, code Code) *Error {
	if code == Success {
		return nil
	}
	e := &Error{Call: f.String(), Code: code}
	if about != "" {
		e.Call += " " + about
	}
	if code == NoDriver {
		e.Detail = "the driver library " + l.path + " lacks this function"
		return e
	}
	e.Name, e.Detail = l.text(fnGetErrorName, code), l.text(fnGetErrorString, code)
	if e.Name == "" {
		e.Name = "CUDA error " + code.String()
	}
	if e.Detail == "" {
		e.Detail = "the driver has no text for it"
	}
	return e
}

// text returns the driver's name or description of a code, according to f.
func (l *Library) text(f function, code Code) string {
	p := new(unsafe.Pointer)
	if l.call(f, uintptr(uint32(code)), uintptr(unsafe.Pointer(p))) != Success || *p == nil {
		return ""
	}
	return cString(*p)
}

// cString copies a C string in memory that does not belong to Go.
func cString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
