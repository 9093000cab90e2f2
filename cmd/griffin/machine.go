package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine describes the processor, for the record of a measurement.
func machine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors, %s/%s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
