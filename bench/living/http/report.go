package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/griffin-search/griffin/bench/living/process"
	"github.com/griffin-search/griffin/internal/latency"
)

// report is the result. MB are 10^6 bytes of whole requests, but for DocMBPerSecond, which counts the
// documents only. Memory and bytes written are of the server. Times are as clients see them.
type report struct {
	Time      time.Time `json:"time"`
	Machine   string    `json:"machine"`
	Command   string    `json:"command"`
	Clients   int       `json:"clients"`
	BodyBytes int       `json:"body_bytes"`
	QueryRate float64   `json:"query_rate"`

	Single latency.Summary `json:"single_ack_us"` // PUT of a document, alone

	Full load `json:"full_rate"`
	Half load `json:"half_rate"`
	// Visible is from the start of _refresh until a search has found a document that was acknowledged
	// just before, beside writes at the highest rate; Probe is from the start of its write.
	Visible latency.Summary `json:"visible_us"`
	Probe   latency.Summary `json:"probe_us"`

	Queries     queries `json:"queries"`
	MergeMillis float64 `json:"forcemerge_ms"`

	Documents       int            `json:"documents"`
	WrittenPerByte  float64        `json:"written_per_byte"`     // of requests, from the first phase of writes until the second has settled
	WrittenPerDoc   float64        `json:"written_per_doc_byte"` // of documents
	Memory          process.Memory `json:"memory"`
	StopMillis      float64        `json:"stop_ms"`
	QuietAfterMS    float64        `json:"quiet_after_ms"` // until merges had ended after the writes
	DiskBytesAtRest int64          `json:"disk_bytes"`     // of the index after that
}

// write writes the report to a file, or to standard output if path is empty. It names the error, if not nil, that ended the
// measurement.
func (r *report) write(path string, failure error) error {
	result := struct {
		*report
		Error string `json:"error,omitempty"`
	}{report: r}
	if failure != nil {
		result.Error = failure.Error()
	}
	out, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	if path != "" {
		return os.WriteFile(path, append(out, '\n'), 0o600)
	}
	fmt.Println(string(out))
	return nil
}

// queries are the times of top-10 OR queries, from a process of their own.
type queries struct {
	// AtOnce: that process has a real-time priority, so that it waits for no processor.
	AtOnce bool            `json:"at_once"`
	Idle   latency.Summary `json:"idle_us"`   // on the merged base documents
	Beside latency.Summary `json:"beside_us"` // writes at half rate
	// Slowest are the slowest of them, without the wait for the query before.
	Slowest []slowQuery     `json:"beside_slowest"`
	After   latency.Summary `json:"after_us"`  // on the segments that the writes left
	Merged  latency.Summary `json:"merged_us"` // after _forcemerge
}

// load is a phase of writes.
type load struct {
	Seconds        float64 `json:"seconds"`
	MBPerSecond    float64 `json:"mb_per_second"`
	DocMBPerSecond float64 `json:"doc_mb_per_second"`
	DocsPerSecond  float64 `json:"docs_per_second"`
	// LongestPause is the longest time between two acknowledgements, to any client.
	LongestPause float64         `json:"longest_pause_ms"`
	Ack          latency.Summary `json:"ack_us"` // of a request to _bulk
	Refused      int64           `json:"refused"`
	ServerCPU    float64         `json:"server_cpu_seconds"`
	// Samples have a second each, without the last, shorter one.
	Samples []sample `json:"samples"`

	bytes, docBytes, docs int64
}

// sample is a second of a load.
type sample struct {
	MB          float64 `json:"mb"`
	Pause       float64 `json:"pause_ms"` // the longest that ended in it
	RSS         int64   `json:"rss_mb"`
	Anonymous   int64   `json:"anonymous_mb"`
	WrittenMB   float64 `json:"written_mb"`
	VisibleMS   float64 `json:"visible_ms,omitempty"` // the longest
	NumSegments int     `json:"segments"`
	// Processor time that the virtual machine did not get, and of other processes and the system.
	StolenMS float64 `json:"stolen_ms"`
	OthersMS float64 `json:"others_ms"`
}
