package load

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Reading is the state of a process at one time.
type Reading struct {
	// The process's own memory without mapped files, and the Go heap in use.
	HostBytes int64 `json:"host_bytes"`
	HeapBytes int64 `json:"heap_bytes"`
	// Page-locked host memory, and used memory of all GPUs.
	PinnedBytes int64 `json:"pinned_bytes"`
	DeviceBytes int64 `json:"device_bytes"`
	Goroutines  int64 `json:"goroutines"`
	// Errors counted by the process: failed driver calls, panics.
	Errors int64 `json:"errors"`
}

const maxMetricsBytes = 4 << 20

// Samples of one metric are summed over their labels.
var metricFields = map[string]func(*Reading) *int64{
	"griffin_process_anonymous_bytes": func(r *Reading) *int64 { return &r.HostBytes },
	"go_memstats_heap_inuse_bytes":    func(r *Reading) *int64 { return &r.HeapBytes },
	"griffin_gpu_host_bytes":          func(r *Reading) *int64 { return &r.PinnedBytes },
	"griffin_gpu_memory_used_bytes":   func(r *Reading) *int64 { return &r.DeviceBytes },
	"go_goroutines":                   func(r *Reading) *int64 { return &r.Goroutines },
	"griffin_gpu_errors_total":        func(r *Reading) *int64 { return &r.Errors },
	"griffin_gpu_lost":                func(r *Reading) *int64 { return &r.Errors },
	"griffin_http_panics_total":       func(r *Reading) *int64 { return &r.Errors },
	"griffin_bugs_total":              func(r *Reading) *int64 { return &r.Errors },
}

// Read reads the metrics of the server.
func (h *HTTP) Read(ctx context.Context) (Reading, error) {
	status, body, err := h.get(ctx, h.base+"/metrics", maxMetricsBytes)
	if err != nil {
		return Reading{}, err
	}
	if status != http.StatusOK {
		return Reading{}, statusError(status, body[:min(len(body), maxAnswerBytes)])
	}
	return parseMetrics(string(body))
}

// parseMetrics parses a subset of Prometheus' text format: lines with a name,
// optional labels in braces, and a number.
func parseMetrics(text string) (Reading, error) {
	var r Reading
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, labels, labelled := strings.Cut(name, "{")
		field := metricFields[name]
		if field == nil {
			continue
		}
		if labelled { // a label may contain a blank
			_, value, _ = strings.Cut(labels+" "+value, "} ")
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Reading{}, fmt.Errorf("load: metric %s: %w", name, err)
		}
		*field(&r) += int64(v)
	}
	if r.Goroutines == 0 {
		return Reading{}, fmt.Errorf("load: the server's metrics lack go_goroutines")
	}
	return r, nil
}
