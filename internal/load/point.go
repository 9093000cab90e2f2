package load

import (
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// Point is the result of measuring one rate.
type Point struct {
	// Rate is the requested rate in queries per second. Took is the time in which
	// counted queries arrived: Options.Duration, or less if the run was cut short.
	Rate float64       `json:"rate"`
	Took time.Duration `json:"took_ns"`
	// Actual arrival rate: Sent/Took for random arrivals; Rate for Constant ones.
	ArrivalRate float64 `json:"arrival_rate"`
	// Arrived queries, whatever their outcome.
	Sent int64 `json:"sent"`
	// By outcome. The sum is Sent, less the outstanding queries of a run that was
	// cut short.
	Answered   int64 `json:"answered"`
	Limited    int64 `json:"limited"`
	Overloaded int64 `json:"overloaded"`
	Expired    int64 `json:"expired"`
	Unanswered int64 `json:"unanswered"`
	Unsent     int64 `json:"unsent"`
	Failed     int64 `json:"failed"`
	// Good counts answers within Options.Bound, or all answers if it is 0; Goodput
	// is per second, up to the last of them.
	Good    int64   `json:"good"`
	Goodput float64 `json:"goodput"`
	// Latency of the answers and Lag of sending, both from the scheduled arrival.
	Latency latency.Summary `json:"latency_us"`
	Lag     latency.Summary `json:"lag_us"`
	// Holds: the share Options.Share of all queries was answered within the bound,
	// if there is one. Cut: the run ended early because this was decided.
	Holds bool `json:"holds"`
	Cut   bool `json:"cut,omitempty"`
	// The first error of each text.
	Faults []string `json:"faults,omitempty"`
}

// Shed returns the number of queries that the service rejected.
func (p *Point) Shed() int64 { return p.Limited + p.Overloaded + p.Expired }

// Faulty returns the number of queries that failed without being rejected.
func (p *Point) Faulty() int64 { return p.Unanswered + p.Unsent + p.Failed }
