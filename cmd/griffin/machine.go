package main

import (
	"fmt"
	"runtime"

	"github.com/griffin-search/griffin/internal/cost"
)

func machine() string {
	return fmt.Sprintf("%s, %d processors, %s/%s", cost.Processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
