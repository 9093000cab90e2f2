package gputest

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// OnGPU reports whether tests run on a real GPU (GRIFFIN_REQUIRE_GPU=1).
func OnGPU() bool { return os.Getenv("GRIFFIN_REQUIRE_GPU") == "1" }

// Open returns device 0 until the end of the test. Then memory that the test
// has not freed is an error, and so is an emulator report that it has not read.
func Open(t testing.TB) *cuda.Device {
	t.Helper()
	return open(t, Library(t), 0)
}

// Library returns the driver for tests, without open devices.
func Library(t testing.TB) *cuda.Library {
	t.Helper()
	if OnGPU() {
		library, err := realLibrary()
		if err != nil {
			t.Fatalf("GRIFFIN_REQUIRE_GPU=1, but: %v", err)
		}
		return library
	}
	library, err := cuda.Load(emulated(t).path)
	if err != nil {
		t.Fatal(err)
	}
	return library
}

// realLibrary keeps its first device open, because creating a context again is
// slow.
var realLibrary = sync.OnceValues(func() (*cuda.Library, error) {
	library, err := cuda.Load("")
	if err == nil {
		_, err = library.Open(0)
	}
	return library, err
})

func open(t testing.TB, library *cuda.Library, ordinal int) *cuda.Device {
	t.Helper()
	d, err := library.Open(ordinal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Cheap objects may stay until the context is closed, such as modules.
		if _, sizeBytes := d.Live(); sizeBytes > 0 && d.Err() == nil {
			t.Errorf("device %d: %d bytes of memory are not freed", ordinal, sizeBytes)
		}
		if err := d.Close(); err != nil && !errors.Is(err, cuda.ErrMisuse) {
			t.Error(err)
		}
		if OnGPU() {
			return
		}
		e := emulated(t)
		if text := e.takeReport(); text != "" {
			t.Errorf("the emulator reports: %s", text)
		}
		if text := e.takeNote(); text != "" && t.Failed() {
			t.Logf("the emulator's note on the call that it refused last: %s", text)
		}
	})
	return d
}
