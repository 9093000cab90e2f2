package griffin

import (
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/sched"
)

// Policy names a rule that chooses the processor for each part of a search. All
// policies give the same answer.
type Policy string

// The policies; Policies describes each.
const (
	PolicyCPU   Policy = "cpu"
	PolicyGPU   Policy = "gpu"
	PolicyRatio Policy = "ratio"
	PolicyQuery Policy = "query"
	PolicyBatch Policy = "batch"
	PolicyCost  Policy = "cost"
)

// PolicyInfo describes a policy.
type PolicyInfo struct {
	Name Policy
	Doc  string // one line
}

// Policies returns all policies, the default last.
func Policies() []PolicyInfo {
	var all []PolicyInfo
	for _, p := range dispatch.Policies() {
		all = append(all, PolicyInfo{Name: Policy(p.Name), Doc: p.Doc})
	}
	return all
}

// Overload is the error of a search that was rejected because too many searches wait, or
// because it was predicted to miss its deadline.
type Overload struct {
	Reason OverloadReason
	// RetryAfter is the predicted time, more than 0, after which an equal search would be
	// accepted if no other arrived.
	RetryAfter time.Duration
}

// Error returns the message.
func (o *Overload) Error() string {
	return fmt.Sprintf("overloaded: %s; try again in %v", o.Reason, o.RetryAfter)
}

// OverloadReason is the reason of an Overload.
type OverloadReason uint8

// The reasons of an Overload.
const (
	// ReasonQueueFull: the maximum number of searches waits (Limits.Waiting).
	ReasonQueueFull = OverloadReason(sched.QueueFull)
	// ReasonTooLate: the search was predicted to miss its deadline.
	ReasonTooLate = OverloadReason(sched.TooLate)
	// ReasonExpired: the search waited until it could no longer meet its deadline.
	ReasonExpired = OverloadReason(sched.Expired)
)

// String describes the reason.
func (r OverloadReason) String() string { return sched.Reason(r).String() }

func publicError(err error) error {
	var o *sched.Overload
	if errors.As(err, &o) {
		return &Overload{Reason: OverloadReason(o.Reason), RetryAfter: o.RetryAfter}
	}
	return err
}
