package cost

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Machine is the hardware for which measured times are valid.
type Machine struct {
	CPU   string   `json:"cpu"`
	Cores int      `json:"cores"` // available to the process
	GPUs  []string `json:"gpus"`  // each with its driver's version
}

// Here returns the current machine, with the GPUs in use.
func Here(gpus []string) Machine {
	return Machine{CPU: Processor(), Cores: runtime.NumCPU(), GPUs: gpus}
}

// Equal reports whether both are the same.
func (m Machine) Equal(o Machine) bool {
	return m.CPU == o.CPU && m.Cores == o.Cores && slices.Equal(m.GPUs, o.GPUs)
}

// Processor returns the model of the first CPU, or the architecture.
func Processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
