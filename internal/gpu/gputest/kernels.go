package gputest

import (
	_ "embed" // the image below
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/gputest.ptx.zst
var image []byte

// Image is the compressed PTX of the kernels below.
func Image() []byte { return image }

// The parameters are documented in gputest.cu.
type (
	// CopyParams are the parameters of gputest_copy.
	CopyParams struct {
		Source, Target cuda.Ptr[[4]uint32]
		NumQuads       uint32
		_              uint32
	}
	// StoreParams are the parameters of gputest_store.
	StoreParams struct {
		Target cuda.Ptr[uint32]
		Value  uint32
		_      uint32
	}
	// AddParams are the parameters of gputest_add.
	AddParams struct {
		Source, Target cuda.Ptr[uint32]
		NumWords       uint32
		Addend         uint32
	}
	// ReverseParams are the parameters of gputest_reverse.
	ReverseParams struct {
		Target   cuda.Ptr[uint32]
		NumWords uint32
		_        uint32
	}
)

// Kernel loads one of the kernels, with parameters P, until the end of the
// test.
func Kernel[P any](t testing.TB, d *cuda.Device, name string) *cuda.Kernel {
	t.Helper()
	return kernel[P](t, d, "gputest", image, name)
}

func kernel[P any](t testing.TB, d *cuda.Device, module string, image []byte, name string) *cuda.Kernel {
	t.Helper()
	m, err := d.LoadImage(module, image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Unload(); err != nil && d.Err() == nil {
			t.Error(err)
		}
	})
	k, err := cuda.LoadKernel[P](m, name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
