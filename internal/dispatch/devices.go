package dispatch

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// DeviceReport lists the GPUs, with the reason if one is unusable.
type DeviceReport struct {
	Library string       `json:"library,omitempty"` // what the driver was loaded from
	Driver  string       `json:"driver,omitempty"`  // the CUDA version of the driver, "12.4"
	Reason  string       `json:"reason,omitempty"`  // why there is no GPU at all, "" if there is
	Devices []DeviceInfo `json:"devices"`
}

// DeviceInfo describes a GPU.
type DeviceInfo struct {
	Ordinal         int    `json:"ordinal"` // what --device takes
	Name            string `json:"name"`
	UUID            string `json:"uuid"`
	Bus             string `json:"bus,omitempty"`
	MemoryBytes     uint64 `json:"memory_bytes"`
	FreeBytes       uint64 `json:"free_bytes"` // of a usable device
	Multiprocessors int    `json:"multiprocessors"`
	Capability      string `json:"compute_capability"` // "9.0"
	L2Bytes         int    `json:"l2_bytes"`
	SharedBytes     int    `json:"shared_bytes"` // the most that a block can have
	Usable          bool   `json:"usable"`
	Reason          string `json:"reason,omitempty"` // why it is not used
}

// Devices loads the driver and lists its GPUs. It opens and closes each usable one to see that
// it works, which takes a few tenths of a second. Without a GPU the report has the reason.
func Devices() DeviceReport {
	report := DeviceReport{Devices: []DeviceInfo{}}
	library, err := cuda.Load("")
	if err != nil {
		report.Reason = err.Error()
		return report
	}
	report.Library, report.Driver = library.Path(), cuda.Version(library.DriverVersion())
	infos, err := library.Devices()
	switch {
	case err != nil:
		report.Reason = err.Error()
	case len(infos) == 0:
		report.Reason = "the driver has no devices (CUDA_VISIBLE_DEVICES can hide them)"
	}
	for _, info := range infos {
		report.Devices = append(report.Devices, examine(library, info))
	}
	return report
}

func examine(library *cuda.Library, info cuda.Info) DeviceInfo {
	u := info.UUID
	d := DeviceInfo{
		Ordinal: info.Ordinal, Name: info.Name, Bus: info.BusID, MemoryBytes: info.TotalBytes,
		UUID:            fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]),
		Multiprocessors: info.Multiprocessors, Capability: fmt.Sprintf("%d.%d", info.Major, info.Minor),
		L2Bytes: info.L2Bytes, SharedBytes: info.MaxSharedBytes, Reason: info.Unusable(),
	}
	if d.Reason != "" {
		return d
	}
	device, err := library.Open(info.Ordinal)
	if err == nil {
		d.FreeBytes, _, err = device.MemInfo()
		err = errors.Join(err, device.Close())
	}
	if err != nil {
		d.Reason = "it does not open: " + err.Error()
	}
	d.Usable = err == nil
	return d
}
