package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
)

// admissionFlags bound how many searches run and wait.
type admissionFlags struct {
	cpus     int
	queue    int
	deadline time.Duration
	pin      bool
	window   time.Duration
}

// serveQueue is how many searches of a server may wait: the time limit that each has bounds
// how long.
const serveQueue = 1024

// register registers the flags; queue is how many searches may wait by default, 0: as many as
// griffin.WithConcurrency says.
func (d *admissionFlags) register(f *pflag.FlagSet, queue int) {
	f.IntVar(&d.cpus, "cpus", 0, "searches that run on the CPU at the same time (default: as many as there are processors)")
	usage := "searches that may wait for a processor; more are turned away"
	if queue == 0 {
		usage += " (default 64 a processor)"
	}
	f.IntVar(&d.queue, "queue", queue, usage)
	f.DurationVar(&d.deadline, "deadline", 0, "turn searches away that cannot be answered within this `TIME` (default: none)")
	f.BoolVar(&d.pin, "pin", false, "bind long searches on the CPU to a processor each (Linux)")
	f.DurationVar(&d.window, "window", 0, "how long a search may wait at an idle GPU for others to share a launch with")
}

// shareProcessors lets the system share the processors out between searches, of which
// as many run as there are processors, the reading of documents, of which as many again,
// and what brings searches: without that a query that arrives is not seen before one that
// runs has ended, and waits where no admission sees it. (A server with GOMAXPROCS=1 that
// can answer 200 queries a second, asked for 400, gave 40 answers in time before, and 215
// with this; on a machine of two processors.) It returns how many processors there are.
// It is to be called once, when the index is open, which counts the processors too.
//
// The garbage collector takes its share of GOMAXPROCS, and so twice as much of the
// processors while it marks. Therefore it marks half as often, unless the environment says
// how often: docs/divergence.md has what was measured.
func shareProcessors() int {
	const others = 2 // what brings searches
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2*n + others)
	if os.Getenv("GOGC") == "" {
		const half = 200 // the heap may grow by twice what is live, not once
		debug.SetGCPercent(half)
	}
	return n
}

func (d *admissionFlags) check() error {
	if d.cpus < 0 || d.queue < 0 || d.deadline < 0 || d.window < 0 {
		return usagef("--cpus, --queue, --deadline and --window cannot be negative")
	}
	return nil
}

func (d *admissionFlags) options() []griffin.Option {
	opts := []griffin.Option{griffin.WithConcurrency(d.cpus, d.queue), griffin.WithDeadline(d.deadline), griffin.WithBatchWindow(d.window)}
	if d.pin {
		opts = append(opts, griffin.WithPinnedThreads())
	}
	return opts
}
