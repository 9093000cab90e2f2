package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/exec"
)

// A GPU that fails while lists are brought to it is told of; any other error ends the
// command.
func TestWarmErrors(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", "/nowhere/libcuda.so.1")
	_, driver := exec.OpenGPU(exec.GPUOptions{Device: "gpu"}, 1)
	if !exec.IsGPUError(driver) {
		t.Fatalf("no error of a GPU: %v", driver)
	}
	for _, want := range []error{driver, base.ErrCorrupt, nil} {
		var out bytes.Buffer
		a := &app{terminal: terminal{err: &out}}
		err := a.warm(t.Context(), residentFlag{minDocFreq: 1}, false /* impacts */, func(context.Context, exec.WarmOptions) (lists, total int64, err error) {
			return 0, 0, want
		})
		note := strings.Contains(out.String(), "the CPU answers where it cannot: ")
		if fatal := errors.Is(want, base.ErrCorrupt); (err != nil) != fatal || note != exec.IsGPUError(want) {
			t.Errorf("after %v: error %v, output %q", want, err, out.String())
		}
	}
}
