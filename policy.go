package griffin

import (
	"time"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/sched"
)

// PolicyInfo is a policy, which chooses where the steps of a search run: Name, and in Doc
// what it does, in a line.
type PolicyInfo = exec.PolicyInfo

// Policies returns all policies, the default last. All give the same answer.
func Policies() []PolicyInfo { return exec.Policies() }

// WithPolicy chooses by name where the steps of searches run on an Index with a GPU:
// "cost", the default, puts each where it is predicted to end first. Policies lists the
// others.
func WithPolicy(name string) Option {
	return func(c *config) { c.dispatch.Policy = exec.Policy(name) }
}

// WithRatio sets the ratio of the policy "ratio": lists are intersected on the GPU while
// the next is less than so many times as long as what is left. The default is 128.
func WithRatio(ratio float64) Option { return func(c *config) { c.dispatch.Ratio = ratio } }

// WithDeadline gives every search the time d. One that cannot end by then is not begun:
// its error is an *Overload. Where there are queues, with this, WithConcurrency or a GPU, the
// deadline of a context is one, too.
func WithDeadline(d time.Duration) Option { return func(c *config) { c.dispatch.Deadline = d } }

// WithConcurrency bounds how many searches run on the CPU at the same time, and how many
// more may wait for a processor; what comes on top gets an *Overload. 0 is the default
// of either: as many as there are processors, and 64 for each of those that run, so that
// none waits much longer than so many searches take (with a GPU, 256 for each of its lanes
// on top; at most 1024). As many as may run may read documents and make snippets at the
// same time. Without it, WithDeadline and a GPU nothing waits.
//
// A program in which searches keep all processors busy answers nothing else meanwhile: the
// Go runtime lets goroutines run to their end, or for 10 ms, before others begin, also
// those that take requests from the network. Set GOMAXPROCS, after the Index is open, to
// more than twice the number of processors, as griffin serve does: then the system shares
// the processors out. The garbage collector takes its share of GOMAXPROCS: set GOGC to 200
// with it.
func WithConcurrency(running, waiting int) Option {
	return func(c *config) { c.dispatch.CPUs, c.dispatch.MaxQueue, c.dispatch.Admit = running, waiting, true }
}

// WithPinnedThreads binds threads that run long searches on the CPU to processors of their
// own, on Linux, where there are queues: with WithConcurrency, WithDeadline or a GPU.
func WithPinnedThreads() Option { return func(c *config) { c.dispatch.Pin = true } }

// WithBatchWindow lets a search wait at an idle GPU for up to d for others to share a
// launch with, if others may be expected. The default is 0: searches share a launch if
// they came while the GPU was busy.
func WithBatchWindow(d time.Duration) Option { return func(c *config) { c.dispatch.Window = d } }

// WithSearchPolicy chooses where the steps of one search run.
func WithSearchPolicy(name string) SearchOption {
	return func(c *searchConfig) { c.policy = exec.Policy(name) }
}

// Overload is the error of a search that was not begun because too many wait, or
// because it could not end by its deadline. Reason says which, and RetryAfter after what
// time one like it would most likely be let in, if nothing else came; it is more than 0.
type Overload = sched.Overload

// OverloadReason is why a search was not begun.
type OverloadReason = sched.Reason

// The reasons of an Overload.
const (
	// ReasonQueueFull says that as many searches wait as may (WithConcurrency).
	ReasonQueueFull = sched.QueueFull
	// ReasonTooLate says that the search was not predicted to end by its deadline.
	ReasonTooLate = sched.TooLate
	// ReasonExpired says that it waited until it could not end by its deadline any more.
	ReasonExpired = sched.Expired
)

// DispatchStats count where the steps of searches ran: CPUSteps, GPUSteps, and
// Migrations between the two. GivenUp are those that a CPU gave up since a GPU would have
// ended long before, Fed searches whose lists were brought to the GPU after they ran, Bugs
// panics of work that no search waits for. Pool tells of queues (nil: there are none), Errors
// how far off predictions were.
type DispatchStats = exec.DispatchStats

// DispatchStats returns the counts as of now.
func (ix *Index) DispatchStats() DispatchStats { return ix.dispatcher.Stats() }
