package main

import (
	"fmt"
	"runtime"

	"github.com/griffin-search/griffin/internal/cost"
)

// machine describes the processor, for the record of a measurement.
func machine() string {
	return fmt.Sprintf("%s, %d processors, %s/%s", cost.Processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
