package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/dispatch"
)

func newDevicesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs, with the reason if one cannot be used",
		Long: `Devices loads the NVIDIA driver and lists its GPUs with the numbers that --device
takes: name, memory, multiprocessors, compute capability. If a GPU cannot be used,
it prints the reason. Without a driver it prints the places it looked in. Griffin
needs compute capability 8.0 and a driver for CUDA 12.0 or later, but no toolkit.

The exit code is 0 even if there is no GPU: the CPU answers every query.`,
		Example: "  griffin devices --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			report := dispatch.Devices()
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
				printDevice(a.console, &report.Devices[i])
			}
			return nil
		},
	}
}

func printDevice(con *console, d *dispatch.DeviceInfo) {
	con.printf("gpu %-3s %s", strconv.Itoa(d.Ordinal), d.Name)
	if d.Bus != "" {
		con.printf(" at %s", d.Bus)
	}
	con.printf("\n        %s of memory", sizeOf(d.MemoryBytes))
	if d.Usable {
		con.printf(", %s free", sizeOf(d.FreeBytes))
	}
	con.printf("; %s; compute capability %s\n", plural(d.Multiprocessors, "multiprocessor"), d.Capability)
	if !d.Usable {
		con.printf("        not used: %s\n", d.Reason)
	}
}
