package load

import "context"

// Target answers queries. Its method is called by many goroutines at the same time.
type Target interface {
	// Do asks query number query, from 0, and waits for the answer, an end without one,
	// or the end of ctx, soon after which it returns. err tells of an Outcome other than
	// Answered what happened; it wraps a *Refusal if asking again would change nothing.
	Do(ctx context.Context, query int) (o Outcome, err error)
}

// Refusal is the error of a query that fails as often as it is asked.
type Refusal struct {
	Err error
	// OfQuery says that the query is at fault: others may be answered. Else all are refused.
	OfQuery bool
}

// Error implements error.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// Outcome is what came of a query.
type Outcome uint8

// The outcomes. The second to fourth are how a service protects itself, the others
// are faults.
const (
	// Answered is the only good one.
	Answered Outcome = iota
	// Limited says that the client has more than its share (HTTP status 429).
	Limited
	// Overloaded says that the service had no room for the query (503).
	Overloaded
	// Expired says that the service gave the query up at its deadline (504).
	Expired
	// Unanswered says that no answer came within Options.Timeout.
	Unanswered
	// Unsent says that the generator had Options.MaxOutstanding queries out already, or
	// was late by more than Options.Timeout.
	Unsent
	// Failed is every other end.
	Failed

	numOutcomes
)

var outcomeNames = [numOutcomes]string{
	Answered: "answered", Limited: "limited", Overloaded: "overloaded", Expired: "expired",
	Unanswered: "unanswered", Unsent: "unsent", Failed: "failed",
}

// String returns the name of the outcome.
func (o Outcome) String() string { return outcomeNames[o] }

// Shed says that the service turned the query away, as it may under load.
func (o Outcome) Shed() bool { return o == Limited || o == Overloaded || o == Expired }
