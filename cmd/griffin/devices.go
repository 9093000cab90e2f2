package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/exec"
)

func newDevicesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs, and why one is not used",
		Long: `Devices looks for the driver of NVIDIA and lists its GPUs with the numbers that
--device takes: name, memory, multiprocessors, compute capability. For one that
cannot be used it says why: a device or driver that is too old, or the error of
opening it. Without a driver it says where it looked. Griffin needs compute
capability 8.0 and a driver for CUDA 12.0 or later, and no toolkit.

The exit code is 0 also if there is none: the CPU answers every query then.`,
		Example: "  griffin devices --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			report := exec.Devices()
			if a.json {
				return a.printJSON(report)
			}
			if report.Driver != "" {
				a.printf("driver  CUDA %s (%s)\n", report.Driver, report.Library)
			}
			if report.Reason != "" {
				a.printf("no GPU is used: %s\n", report.Reason)
			}
			for i := range report.Devices {
				a.printDevice(&report.Devices[i])
			}
			return nil
		},
	}
}

func (a *app) printDevice(d *exec.DeviceInfo) {
	a.printf("gpu %-3s %s", strconv.Itoa(d.Ordinal), d.Name)
	if d.Bus != "" {
		a.printf(" at %s", d.Bus)
	}
	a.printf("\n        %s of memory", sizeOf(d.MemoryBytes))
	if d.Usable {
		a.printf(", %s free", sizeOf(d.FreeBytes))
	}
	a.printf("; %s; compute capability %s\n", plural(d.Multiprocessors, "multiprocessor"), d.Capability)
	if !d.Usable {
		a.printf("        not used: %s\n", d.Reason)
	}
}
