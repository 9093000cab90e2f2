package load

import (
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// Point is what was measured at one rate.
type Point struct {
	// Rate that was asked for, in queries a second, and Took, the time in which queries
	// arrived that are counted here: Options.Duration, or less if it was cut short.
	Rate float64       `json:"rate"`
	Took time.Duration `json:"took_ns"`
	// ArrivalRate is that of the arrivals as they were drawn: Sent in Took where they are
	// random, a little more or less than Rate, which it is where they are Constant.
	ArrivalRate float64 `json:"arrival_rate"`
	// Sent counts the queries that arrived; those that came to nothing are among them.
	Sent int64 `json:"sent"`
	// By outcome; together they are Sent, less those that were out as the run was cut
	// short.
	Answered   int64 `json:"answered"`
	Limited    int64 `json:"limited"`
	Overloaded int64 `json:"overloaded"`
	Expired    int64 `json:"expired"`
	Unanswered int64 `json:"unanswered"`
	Unsent     int64 `json:"unsent"`
	Failed     int64 `json:"failed"`
	// Good counts the answers within Options.Bound, or all if there is none, and Goodput
	// is how many there were in a second, up to the last of them.
	Good    int64   `json:"good"`
	Goodput float64 `json:"goodput"`
	// Latency of the answers, from the time that the query was to arrive, and Lag, how
	// much later than that it was sent.
	Latency latency.Summary `json:"latency_us"`
	Lag     latency.Summary `json:"lag_us"`
	// Holds says, where there is a bound, that the share Options.Share of all queries was
	// answered within it. Cut says that the run was ended because that was decided.
	Holds bool `json:"holds"`
	Cut   bool `json:"cut,omitempty"`
	// Faults are some of the errors, the first of each text.
	Faults []string `json:"faults,omitempty"`
}

// Shed returns how many queries the service turned away.
func (p *Point) Shed() int64 { return p.Limited + p.Overloaded + p.Expired }

// Faulty returns how many queries came to nothing that the service did not turn away.
func (p *Point) Faulty() int64 { return p.Unanswered + p.Unsent + p.Failed }
