package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
)

// A GPU failure gives a note; other errors end the command.
func TestWarmErrors(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", "/nowhere/libcuda.so.1")
	_, driver := dispatch.OpenGPU(dispatch.GPUOptions{Device: "gpu"}, 1)
	if !dispatch.IsGPUError(driver) {
		t.Fatalf("no error of a GPU: %v", driver)
	}
	for _, want := range []error{driver, base.ErrCorrupt, nil} {
		var out bytes.Buffer
		a := &app{console: &console{terminal: terminal{err: &out}}}
		err := a.warm(t.Context(), residentFlag{minDocFreq: 1}, false /* impacts */, func(context.Context, dispatch.WarmOptions) (lists, total int64, err error) {
			return 0, 0, want
		})
		note := strings.Contains(out.String(), "the CPU answers where the GPU cannot: ")
		if fatal := errors.Is(want, base.ErrCorrupt); (err != nil) != fatal || note != dispatch.IsGPUError(want) {
			t.Errorf("after %v: error %v, output %q", want, err, out.String())
		}
	}
}
