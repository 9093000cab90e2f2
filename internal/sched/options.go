package sched

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Policy names how places are chosen and batches formed.
type Policy string

// The policies; see the package comment.
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

// ParsePolicy returns the policy with the given name; "" is the default, cost.
// The error wraps base.ErrBadInput and lists the names.
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
	DefaultWork      = 1 << 20 // ao11 §6.1: 1M, where the paper reached 91,382 queries/s
	DefaultMaxBatch  = 512
	// DefaultDepth is the number of jobs that may wait per CPU: 128 jobs of 20 µs
	// delay two CPUs by 1.3 ms, 1,024 jobs by 10 ms.
	DefaultDepth = 64
	// DefaultMaxQueue limits the default number of waiting jobs.
	DefaultMaxQueue = 1024
	DefaultStretch  = 4
	DefaultUrgent   = 0.5
	DefaultGather   = 10 * time.Millisecond
)

// Options configure a Scheduler. A zero field selects its default.
type Options struct {
	// Default PolicyCost.
	Policy Policy
	// Number of jobs that run on the CPU at the same time; default GOMAXPROCS.
	// Negative: none, and the place is lost.
	CPUs int
	// Number of jobs or batches that run on GPUs at the same time; default 0: no
	// GPU.
	Lanes int
	// Maximum number of waiting jobs; more are shed. Default: DefaultDepth per
	// CPU, and MaxBatch per lane if that is more, but at most DefaultMaxQueue.
	// Negative: no limit.
	MaxQueue int
	// Default time from arrival to deadline (see Job.Within); default none.
	Deadline time.Duration
	// RunLate runs jobs that cannot meet their deadline instead of shedding them.
	RunLate bool
	// Maximum time that a job waits at an idle GPU for others to share a launch.
	// Default 0: batches contain only jobs that arrived while the GPU was busy.
	// For PolicyBatch the default is DefaultGather.
	Window time.Duration
	// Maximum number of jobs per launch; default 512; 1: no batches.
	MaxBatch int
	// Maximum predicted time of a launch of several jobs; default: no limit.
	MaxLaunch time.Duration
	// Beside is the number of jobs for each busy lane that a launch beside them needs, until a lane ends or
	// a job has waited for BesideWait: lanes share a GPU, so that small launches at the same time gain nothing and each takes
	// a CPU. Default 0: an idle lane takes what waits at once.
	Beside int
	// Patience is the predicted time at a busy GPU up to which a job of a batch waits there although a CPU would end it
	// earlier, if it takes the CPU more than Feeding, the time that a CPU spends on a job that the GPU runs. It waits no
	// longer if it would end there after its deadline, or if the launch takes longer than predicted. Default 0: a job goes
	// where it ends first.
	Patience, Feeding time.Duration
	// The initial factor by which a job must be faster at a place to belong to it
	// alone (PolicyQuery); default 0.2.
	Threshold float64
	// Sum of Job.Work at which PolicyBatch starts a batch; default 1 M postings.
	Work int64
	// Stretch limits overtaking: a job lets later, smaller jobs go first for this
	// multiple of its cost; default 4; negative: first come, first served.
	Stretch float64
	// Share of the time to its deadline after which a job precedes all others;
	// default 0.5.
	Urgent float64
	// Pin makes a Pool bind the thread of a job on the CPU to its own core if it
	// is predicted to take 100 µs or more (Linux only).
	Pin bool
}

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
	if rules[o.Policy].gathers {
		setDefault(&o.Window, DefaultGather)
	}
	o.CPUs, o.Stretch = max(o.CPUs, 0), max(o.Stretch, 0)
	setDefault(&o.MaxQueue, min(DefaultDepth*o.CPUs+max(DefaultDepth, o.MaxBatch)*max(o.Lanes, 0), DefaultMaxQueue))
	switch {
	case o.Lanes < 0 || o.Lanes > maxServers || o.CPUs > maxServers:
		return o, fmt.Errorf("%w: %d CPUs and %d lanes: at most %d each", base.ErrBadInput, o.CPUs, o.Lanes, maxServers)
	case o.CPUs+o.Lanes == 0:
		return o, fmt.Errorf("%w: no processor to run on", base.ErrBadInput)
	case o.Beside < 0 || o.Patience < 0 || o.Feeding < 0 || o.MaxLaunch < 0:
		return o, fmt.Errorf("%w: %d jobs beside a lane, patience %v, feeding %v, launches of %v: none can be negative", base.ErrBadInput, o.Beside, o.Patience, o.Feeding, o.MaxLaunch)
	case o.Window < 0 || o.Deadline < 0 || o.Threshold < 0 || o.Work < 0 || o.MaxBatch < 1 || o.Urgent < 0 || o.Urgent > 1:
		return o, fmt.Errorf("%w: window %v, deadline %v, threshold %v, work %d, batches of %d, urgent %v: out of range",
			base.ErrBadInput, o.Window, o.Deadline, o.Threshold, o.Work, o.MaxBatch, o.Urgent)
	}
	return o, nil
}

const maxServers = 1 << 12

// BesideWait is the longest time that a job waits for a launch beside others (Options.Beside).
const BesideWait = 300 * time.Microsecond

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
