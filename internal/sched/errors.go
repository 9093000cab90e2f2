package sched

import (
	"errors"
	"fmt"
	"time"
)

// Errors of a place, which Work returns if the place, not the work, is at
// fault.
var (
	// ErrFailed means that a run failed at its place; a [Pool] retries its jobs at
	// the other place.
	ErrFailed = errors.New("the processor failed at it")
	// ErrLost is an ErrFailed after which the place is unusable: nothing is
	// sent there until [Pool.Regain].
	ErrLost = fmt.Errorf("%w and is lost", ErrFailed)
	// ErrNoPlace means that no available place can run the job.
	ErrNoPlace = errors.New("no processor can run the job")
)

// Reason is why a job was shed.
type Reason uint8

// The reasons.
const (
	// QueueFull: Options.MaxQueue jobs were waiting.
	QueueFull Reason = iota
	// TooLate: on arrival, the job was predicted to miss its deadline.
	TooLate
	// Expired: the job was admitted, but waited until it could no longer meet
	// its deadline.
	Expired

	numReasons = 3
)

func (r Reason) String() string {
	switch r {
	case QueueFull:
		return "the queue is full"
	case TooLate:
		return "the deadline cannot be met"
	case Expired:
		return "the deadline passed in the queue"
	}
	return "unknown reason"
}

// Overload is the error of a shed job. It has not run, except at a place that
// failed.
type Overload struct {
	Reason Reason
	// Predicted time, above 0, until a similar job would be admitted if nothing
	// else arrived.
	RetryAfter time.Duration
}

func (o *Overload) Error() string {
	return fmt.Sprintf("overloaded: %s; try again in %v", o.Reason, o.RetryAfter)
}
