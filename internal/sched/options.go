package sched

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Policy names how places are chosen.
type Policy string

// The policies. The package comment says what each does.
const (
	PolicyCPU   Policy = "cpu"
	PolicyGPU   Policy = "gpu"
	PolicyRatio Policy = "ratio"
	PolicyQuery Policy = "query"
	PolicyBatch Policy = "batch"
	PolicyCost  Policy = "cost"
)

// Policies returns all policies, the default last.
func Policies() []Policy {
	return []Policy{PolicyCPU, PolicyGPU, PolicyRatio, PolicyQuery, PolicyBatch, PolicyCost}
}

// ParsePolicy returns the policy of a name; "" is the default, cost. The error
// wraps base.ErrBadInput and lists the names.
func ParsePolicy(name string) (Policy, error) {
	if name == "" {
		return PolicyCost, nil
	}
	if p := Policy(name); slices.Contains(Policies(), p) {
		return p, nil
	}
	names := make([]string, 0, len(Policies()))
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("%w: policy %q; there are: %s", base.ErrBadInput, name, strings.Join(names, ", "))
}

// Defaults of Options.
const (
	DefaultThreshold = 0.2     // ding09 §9: "20% faster on GPU than on CPU"
	DefaultWork      = 1 << 20 // ao11 §6.1: 1M, where 91,382 queries/s were reached
	DefaultMaxBatch  = 256
	// DefaultDepth is how many jobs may wait for each CPU. First come, first served, none
	// then waits longer than so many jobs take, whatever they take and however many CPUs
	// there are: 128 jobs of 20 µs are 1.3 ms of two CPUs, where 1,024 are 10 ms.
	DefaultDepth = 64
	// DefaultMaxQueue is how many may wait at most if nothing is said: as many as for 16
	// CPUs.
	DefaultMaxQueue = 1024
	DefaultStretch  = 4
	DefaultUrgent   = 0.5
	// DefaultGather is how long PolicyBatch gathers at most.
	DefaultGather = 10 * time.Millisecond
)

// Options configure a Scheduler. The zero value of each field is its default.
type Options struct {
	// Policy chooses places; default PolicyCost.
	Policy Policy
	// CPUs is how many jobs run on the CPU at once; default GOMAXPROCS. Negative:
	// none does, and the place is lost.
	CPUs int
	// Lanes is how many jobs or batches run on GPUs at once; default 0: there is
	// no GPU.
	Lanes int
	// MaxQueue is how many jobs may wait; more are shed. Default DefaultDepth for each CPU,
	// and MaxBatch for each lane if that is more, but at most DefaultMaxQueue; negative: any
	// number.
	MaxQueue int
	// Deadline is the time that a job has from its arrival, if it does not say
	// (Job.Within); default none.
	Deadline time.Duration
	// RunLate runs jobs that cannot end by their deadline, in the place of
	// shedding them. Deadlines then only order.
	RunLate bool
	// Window is how long a job may wait at an idle GPU for others to share a
	// launch with, if others may be expected in that time; default 0, so that
	// batches are only of what arrived while the GPU was busy. PolicyBatch
	// gathers for this long at most, by default DefaultGather.
	Window time.Duration
	// MaxBatch is how many jobs share a launch at most; default 256; 1: none do.
	MaxBatch int
	// Threshold is by how much a job must be faster at one place to belong to it
	// alone at first (PolicyQuery); default 0.2.
	Threshold float64
	// Work is the sum of Job.Work from which PolicyBatch starts a batch; default
	// 1 M postings.
	Work int64
	// Stretch is how many times its own cost a job lets smaller jobs that arrive
	// later go first; default 4; negative: first come, first served.
	Stretch float64
	// Urgent is the share of the time to its deadline after which a job goes
	// before all others; default 0.5.
	Urgent float64
	// Pin has a Pool bind the thread that runs a job on the CPU to a processor
	// of its own, if the job is predicted to take 100 µs or more (Linux only).
	Pin bool
}

// withDefaults returns the options with every default filled in. The error wraps
// base.ErrBadInput.
func (o Options) withDefaults() (Options, error) {
	policy, err := ParsePolicy(string(o.Policy))
	if err != nil {
		return o, err
	}
	o.Policy = policy
	setDefault(&o.CPUs, runtime.GOMAXPROCS(0))
	setDefault(&o.MaxBatch, DefaultMaxBatch)
	setDefault(&o.Threshold, DefaultThreshold)
	setDefault(&o.Work, DefaultWork)
	setDefault(&o.Stretch, DefaultStretch)
	setDefault(&o.Urgent, DefaultUrgent)
	setDefault(&o.Deadline, Never)
	if o.Policy == PolicyBatch {
		setDefault(&o.Window, DefaultGather)
	}
	o.CPUs, o.Stretch = max(o.CPUs, 0), max(o.Stretch, 0)
	setDefault(&o.MaxQueue, min(DefaultDepth*o.CPUs+max(DefaultDepth, o.MaxBatch)*max(o.Lanes, 0), DefaultMaxQueue))
	switch {
	case o.Lanes < 0 || o.Lanes > maxServers || o.CPUs > maxServers:
		return o, fmt.Errorf("%w: %d CPUs and %d lanes: at most %d each", base.ErrBadInput, o.CPUs, o.Lanes, maxServers)
	case o.CPUs+o.Lanes == 0:
		return o, fmt.Errorf("%w: no processor to run on", base.ErrBadInput)
	case o.Window < 0 || o.Deadline < 0 || o.Threshold < 0 || o.Work < 0 || o.MaxBatch < 1 || o.Urgent < 0 || o.Urgent > 1:
		return o, fmt.Errorf("%w: window %v, deadline %v, threshold %v, work %d, batches of %d, urgent %v: out of range",
			base.ErrBadInput, o.Window, o.Deadline, o.Threshold, o.Work, o.MaxBatch, o.Urgent)
	}
	return o, nil
}

// maxServers bounds the servers of a place.
const maxServers = 1 << 12

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
