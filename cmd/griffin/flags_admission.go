package main

import (
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/footprint"
	"github.com/griffin-search/griffin/internal/turns"
)

type admissionFlags struct {
	cpus     int
	queue    int
	deadline time.Duration
	pin      bool
	window   time.Duration
}

// serveQueue is a server's default number of waiting searches, whose time limits bound the
// waiting time.
const serveQueue = 1024

// queue is the default number of waiting searches; 0: as in griffin.Limits.
func (d *admissionFlags) register(f *pflag.FlagSet, queue int) {
	f.IntVar(&d.cpus, "cpus", 0, "searches that run on the CPU at the same time (default: the number of processors)")
	usage := "searches that may wait for a processor; more are rejected"
	if queue == 0 {
		usage += " (default: 64 for each processor)"
	}
	f.IntVar(&d.queue, "queue", queue, usage)
	f.DurationVar(&d.deadline, "deadline", 0, "reject searches that are predicted to take longer than this `TIME`, with the wait (default: none)")
	f.BoolVar(&d.pin, "pin", false, "bind each long search on the CPU to one processor (Linux)")
	f.DurationVar(&d.window, "window", 0, "time that a search may wait at an idle GPU for others to share its launch")
}

// shareProcessors raises GOMAXPROCS, asks for short time slices (turns.ShortSlices), and returns the former GOMAXPROCS, the number of processors. The
// operating system then shares the processors between searches, reading documents (both up to
// one per processor) and the network; otherwise a request that arrives is not seen, nor counted
// by admission, before a running search ends. Measured with GOMAXPROCS=1 on two processors, a
// capacity of 200 queries/s and 400 requests/s: 40 answers in time before, 215 after. Call it
// once, after the index is open: opening counts the processors, too.
//
// beside is the number of further goroutines that may compute: writesBeside if the process takes writes. They must not use all
// of GOMAXPROCS: otherwise nobody waits for the network, and a request is seen after up to 10 ms (docs/benchmarks/living.md).
//
// The garbage collector uses a share of GOMAXPROCS, so its marking would take twice its usual processor
// time. It therefore runs rarely, unless GOGC is set: see collector (measurements: docs/divergence.md).
func shareProcessors(beside int) int {
	const others = 2 // what brings searches
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2*n + others + beside)
	turns.ShortSlices()
	tuneCollector(footprint.Available(), beside > 0)
	return n
}

// writesBeside is the number of goroutines for writes. Requests to _bulk parse. On n processors, n goroutines invert
// documents, n write segments and n/2 merge. The garbage collector takes a quarter of GOMAXPROCS. On two processors,
// with four clients that write, all are 13.
const writesBeside = 10

func (d *admissionFlags) check() error {
	if d.cpus < 0 || d.queue < 0 || d.deadline < 0 || d.window < 0 {
		return usagef("--cpus, --queue, --deadline and --window must not be negative")
	}
	return nil
}

func (d *admissionFlags) limits() *griffin.Limits {
	return &griffin.Limits{Running: d.cpus, Waiting: d.queue, Deadline: d.deadline, BatchWindow: d.window, PinThreads: d.pin}
}
