package load

import "context"

// Target answers queries of many goroutines at the same time.
type Target interface {
	// Do sends query number query, from 0, and waits for the answer, an end
	// without one, or the end of ctx. For an Outcome other than Answered, err
	// describes it; err wraps a *Refusal if a retry would change nothing.
	Do(ctx context.Context, query int) (o Outcome, err error)
}

// BatchTarget is a Target that answers several queries in one request.
type BatchTarget interface {
	Target
	// DoBatch sends n queries, from number first on, and after the last again from 0. The
	// outcome is the request's; if it is Answered, failed of the queries have no answer,
	// and err, a *Refusal if they always fail, describes one of them.
	DoBatch(ctx context.Context, first, n int) (o Outcome, failed int, err error)
}

// Singly sends each query as a batch of one.
func Singly(t BatchTarget) Target { return singly{t} }

type singly struct{ batches BatchTarget }

func (s singly) Do(ctx context.Context, query int) (Outcome, error) {
	o, failed, err := s.batches.DoBatch(ctx, query, 1)
	if failed > 0 {
		o = Failed
	}
	return o, err
}

// Refusal is the error of a query that always fails.
type Refusal struct {
	Err error
	// The query is at fault, others may be answered; otherwise all are refused.
	OfQuery bool
}

// Error implements error.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// Outcome is the outcome of a query.
type Outcome uint8

// The outcomes. Limited, Overloaded and Expired protect a service; the later
// ones are faults.
const (
	Answered Outcome = iota
	// Limited: the client exceeded its share (HTTP status 429).
	Limited
	// Overloaded: the service had no capacity for the query (503).
	Overloaded
	// Expired: the service aborted the query at its deadline (504).
	Expired
	// Unanswered: no answer within Options.Timeout.
	Unanswered
	// Unsent: there were Options.MaxOutstanding queries, or the generator was late
	// by more than Options.Timeout.
	Unsent
	Failed

	numOutcomes
)

var outcomeNames = [numOutcomes]string{
	Answered: "answered", Limited: "limited", Overloaded: "overloaded", Expired: "expired",
	Unanswered: "unanswered", Unsent: "unsent", Failed: "failed",
}

// String returns the name of the outcome.
func (o Outcome) String() string { return outcomeNames[o] }

// Shed reports whether the service rejected the query.
func (o Outcome) Shed() bool { return o == Limited || o == Overloaded || o == Expired }
