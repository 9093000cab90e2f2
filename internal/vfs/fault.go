package vfs

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
)

// An access to a mapped file that is truncated, or whose storage fails, raises SIGBUS, which
// ends a Go process. PanicOnFault turns it into a panic, RecoverFault that into an error, for
// the calling goroutine: exported functions that read mapped files begin with
//
//	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
//
// Their goroutines call PanicOnFault and pass the panic on (invariant.Group does both).
//
// Only whole pages are detected: bytes between a file's new end and its page's end read as
// zeros.
//
// Only Go code and its assembly recover: never pass a mapped address to a C library, such as a
// GPU driver.

// PanicOnFault makes the calling goroutine panic on an inaccessible address. It returns the
// previous setting for RecoverFault.
func PanicOnFault() (before bool) { return debug.SetPanicOnFault(true) }

// RecoverFault restores the setting before PanicOnFault. If an inaccessible mapped file caused
// a panic, *err names the file and wraps base.ErrCorrupt. Defer it before functions that
// release mappings.
func RecoverFault(before bool, err *error) {
	debug.SetPanicOnFault(before)
	value := recover() //nolint:revive // it is deferred, by name
	if value == nil {
		return
	}
	fault := FaultOf(value)
	if fault == nil {
		panic(value) // a bug
	}
	*err = fault
}

// FaultOf returns the error of a panic caused by an inaccessible mapped file, or nil.
func FaultOf(value any) error {
	err, ok := value.(error)
	if !ok {
		return nil
	}
	var known *Fault
	if errors.As(err, &known) {
		return known
	}
	var at interface{ Addr() uintptr } // a runtime error with an address
	if !errors.As(err, &at) {
		return nil
	}
	m, found := mappings.find(at.Addr())
	if !found {
		return nil
	}
	f := &Fault{Name: m.name, Offset: int64(at.Addr() - m.start), WasBytes: int64(m.size), NowBytes: -1}
	if info, err := os.Stat(m.name); err == nil {
		f.NowBytes = info.Size()
	}
	return f
}

// Fault reports an unreadable mapped file; it wraps base.ErrCorrupt.
type Fault struct {
	Name   string
	Offset int64
	// WasBytes is the size when mapped, NowBytes after the fault, -1 if the file is gone.
	WasBytes, NowBytes int64
}

// Error implements error.
func (f *Fault) Error() string {
	why := "its storage failed"
	switch {
	case f.NowBytes < 0:
		why = "it was removed and truncated while it was in use"
	case f.NowBytes < f.WasBytes:
		why = fmt.Sprintf("it was truncated from %d to %d bytes while it was in use", f.WasBytes, f.NowBytes)
	case f.NowBytes > f.WasBytes:
		why = fmt.Sprintf("it was changed from %d to %d bytes while it was in use", f.WasBytes, f.NowBytes)
	}
	return fmt.Sprintf("%s: byte %d cannot be read: %s: %v", f.Name, f.Offset, why, base.ErrCorrupt)
}

// Unwrap returns base.ErrCorrupt.
func (f *Fault) Unwrap() error { return base.ErrCorrupt }

type mappedRange struct {
	start, size uintptr
	name        string
}

func rangeOf(data []byte, name string) mappedRange {
	return mappedRange{start: reflect.ValueOf(data).Pointer(), size: uintptr(len(data)), name: name}
}

func (r *mappedRange) has(address uintptr) bool { return address-r.start < r.size }

// The process's mapped files by address, to name faults.
type ranges struct {
	mu   sync.Mutex
	open map[uintptr]mappedRange
	// The last unmapped ranges: a panic runs deferred functions that release mappings before
	// RecoverFault.
	closed [64]mappedRange
	next   int
}

var mappings = ranges{open: map[uintptr]mappedRange{}}

func (r *ranges) add(m mappedRange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[m.start] = m
}

func (r *ranges) remove(m mappedRange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, m.start)
	r.closed[r.next] = m
	r.next = (r.next + 1) % len(r.closed)
}

func (r *ranges) find(address uintptr) (m mappedRange, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.open {
		if m.has(address) {
			return m, true
		}
	}
	for i := range r.closed { // latest first
		if m := r.closed[(r.next+len(r.closed)-1-i)%len(r.closed)]; m.has(address) {
			return m, true
		}
	}
	return mappedRange{}, false
}
