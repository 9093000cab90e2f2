package load

import (
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// Point is the result of measuring one rate.
type Point struct {
	// The requested rate in queries per second. Took is the time in which counted
	// queries arrived: Options.Duration, or less if the run was cut short.
	Rate float64       `json:"rate"`
	Took time.Duration `json:"took_ns"`
	// The actual arrival rate: Sent/Took for random arrivals, slightly different
	// from Rate; Rate for Constant arrivals.
	ArrivalRate float64 `json:"arrival_rate"`
	// Number of arrived queries, whatever their outcome.
	Sent int64 `json:"sent"`
	// By outcome. The sum is Sent, less the outstanding queries when the run
	// was cut short.
	Answered   int64 `json:"answered"`
	Limited    int64 `json:"limited"`
	Overloaded int64 `json:"overloaded"`
	Expired    int64 `json:"expired"`
	Unanswered int64 `json:"unanswered"`
	Unsent     int64 `json:"unsent"`
	Failed     int64 `json:"failed"`
	// Number of answers within Options.Bound, or of all answers if it is 0.
	// Goodput is their number per second, up to the last of them.
	Good    int64   `json:"good"`
	Goodput float64 `json:"goodput"`
	// Latency of the answers, from the scheduled arrival; Lag, the delay
	// between scheduled arrival and sending.
	Latency latency.Summary `json:"latency_us"`
	Lag     latency.Summary `json:"lag_us"`
	// Holds reports, if there is a bound, whether the share Options.Share of
	// all queries was answered within it. Cut: the run ended early because this
	// was decided.
	Holds bool `json:"holds"`
	Cut   bool `json:"cut,omitempty"`
	// Faults are some of the errors, the first of each text.
	Faults []string `json:"faults,omitempty"`
}

// Shed returns the number of queries that the service rejected.
func (p *Point) Shed() int64 { return p.Limited + p.Overloaded + p.Expired }

// Faulty returns the number of queries that failed without being rejected.
func (p *Point) Faulty() int64 { return p.Unanswered + p.Unsent + p.Failed }
