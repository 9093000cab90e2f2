package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

type machine struct {
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	OS   string `json:"os"`
	Go   string `json:"go"`
}

func thisMachine() machine {
	return machine{
		CPU:  cpuModel(),
		CPUs: runtime.NumCPU(),
		OS:   runtime.GOOS + "/" + runtime.GOARCH,
		Go:   runtime.Version(),
	}
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d CPUs, %s, %s.", m.CPU, m.CPUs, m.OS, m.Go)
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
