package sched

import (
	"errors"
	"fmt"
	"time"
)

// What happens to work at a place. Work returns an error that wraps one of them
// when the place, not the work, is at fault.
var (
	// ErrFailed says that a run failed at its place and may be tried at another:
	// a [Pool] runs the jobs of the run at the other place.
	ErrFailed = errors.New("the processor failed at it")
	// ErrLost is an ErrFailed after which the place is gone: nothing is sent
	// there until [Pool.Regain].
	ErrLost = fmt.Errorf("%w and is lost", ErrFailed)
	// ErrNoPlace says that a job can run nowhere: not at a place that is there.
	ErrNoPlace = errors.New("no processor can run the job")
)

// Reason says why a job was shed.
type Reason uint8

// The reasons.
const (
	// QueueFull says that Options.MaxQueue jobs were waiting.
	QueueFull Reason = iota
	// TooLate says that the job was not predicted to end by its deadline when it
	// arrived. (On an idle place such a job is tried now and then, in case the
	// prediction is wrong.)
	TooLate
	// Expired says that the job was admitted, and waited so long that it could
	// not end by its deadline any more.
	Expired

	numReasons = 3
)

// String returns the reason in words.
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

// Overload is the error of a job that was shed. Nothing of it has run, unless that was at a
// place that failed.
type Overload struct {
	Reason Reason
	// RetryAfter is the predicted time until a job like it would be admitted, if
	// nothing else arrived: more than 0.
	RetryAfter time.Duration
}

// Error implements error.
func (o *Overload) Error() string {
	return fmt.Sprintf("overloaded: %s; try again in %v", o.Reason, o.RetryAfter)
}
