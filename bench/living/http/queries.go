package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/griffin-search/griffin/bench/living/process"
	"github.com/griffin-search/griffin/internal/latency"
)

// queryJob is queries at fixed times, for a process of its own: goroutines of the writers delay neither the
// requests nor the answers. The process reads it from standard input and writes the times to standard output.
type queryJob struct {
	URL     string   `json:"url"`
	Queries []string `json:"queries"`
	// Rate is queries a second, 0: one after another.
	Rate float64 `json:"rate"`
	// Warm runs all queries once, before.
	Warm bool `json:"warm"`
	// Count is the number of queries; 0: until Until, at least one.
	Count int       `json:"count"`
	Until time.Time `json:"until"`
}

// queryProcess in the environment makes the command one that runs a queryJob.
const queryProcess = "GRIFFIN_BENCH_QUERIES"

// runQueries is the main function of that process.
func runQueries(ctx context.Context) error {
	var job queryJob
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		return err
	}
	times, err := job.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(times)
}

// queryTimes is the result of a queryJob. A Summary has no count in JSON.
type queryTimes struct {
	Count   int             `json:"count"`
	Times   latency.Summary `json:"times_us"`
	Slowest []slowQuery     `json:"slowest"`
}

// slowQuery is a query and when it was sent, in seconds since the first one.
type slowQuery struct {
	At     float64 `json:"at"`
	Millis float64 `json:"ms"` // without the wait for the one before
	Query  string  `json:"query"`
}

// numSlowest is how many of the slowest queries a report has.
const numSlowest = 20

// keepSlowest adds a query to the slowest ones, which are in order.
func keepSlowest(slowest []slowQuery, q slowQuery) []slowQuery {
	at, _ := slices.BinarySearchFunc(slowest, q.Millis, func(a slowQuery, ms float64) int { return cmp.Compare(ms, a.Millis) })
	if at == numSlowest {
		return slowest
	}
	slowest = slices.Insert(slowest, at, q)
	return slowest[:min(len(slowest), numSlowest)]
}

func (j *queryJob) run(ctx context.Context) (times queryTimes, err error) {
	s := &server{url: j.URL, client: newClient()}
	defer s.client.CloseIdleConnections()
	if j.Warm {
		for _, q := range j.Queries {
			if _, err := s.search(ctx, q); err != nil {
				return times, err
			}
		}
	}
	var took latency.Histogram
	began := time.Now()
	for n := 0; j.Count > 0 && n < j.Count || j.Count == 0 && (n == 0 || time.Now().Before(j.Until)); n++ {
		due := time.Now()
		if j.Rate > 0 { // a late one counts from its time
			due = began.Add(time.Duration(float64(n) / j.Rate * 1e9))
			time.Sleep(time.Until(due))
		}
		query, sent := j.Queries[n%len(j.Queries)], time.Now()
		if _, err := s.search(ctx, query); err != nil {
			return times, err
		}
		now := time.Now()
		took.Record(now.Sub(due))
		times.Slowest = keepSlowest(times.Slowest, slowQuery{At: sent.Sub(began).Seconds(), Millis: ms(now.Sub(sent)), Query: query})
	}
	times.Times = took.Summary()
	times.Count = times.Times.Count
	return times, nil
}

// search runs a job of the bench's queries in a process of its own, which takes a processor at once if
// that is permitted, as a client on another machine has one of its own.
func (b *bench) search(ctx context.Context, job queryJob) (times queryTimes, err error) {
	job.URL, job.Queries, job.Rate = b.server.url, b.queries, b.o.queryRate
	in, err := json.Marshal(job)
	if err != nil {
		return times, err
	}
	self, err := os.Executable()
	if err != nil {
		return times, err
	}
	var out, failure bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), queryProcess+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &failure
	b.priority = process.AtOnce(func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return times, fmt.Errorf("queries: %w: %s", errors.Join(err, ctx.Err()), bytes.TrimSpace(failure.Bytes()))
	}
	err = json.Unmarshal(out.Bytes(), &times)
	times.Times.Count = times.Count
	return times, err
}
