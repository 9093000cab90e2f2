package main

import (
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/internal/sched"
)

func printLoad(con *console, r *loadResult) {
	st := con.style(con.out)
	together := ""
	if r.Batch > 0 {
		together = ", in batches of " + count(r.Batch)
	}
	con.printf("%s of %s, mode %s, k=%d, %s arrivals%s\n%s\n\n", plural(r.Queries, "query"), r.Target, r.Mode, r.K, r.Arrivals, together, r.Machine)
	rows := [][]string{{"rate/s", "came/s", "goodput/s", "p50", "p90", "p95", "p99", "p99.9", "max", "429", "503", "504", "faults"}}
	for i := range r.Points {
		p := &r.Points[i]
		row := []string{rateOf(p.Rate), fmt.Sprintf("%.1f", p.ArrivalRate), fmt.Sprintf("%.1f", p.Goodput)}
		l := &p.Latency
		for _, d := range []time.Duration{l.P50, l.P90, l.P95, l.P99, l.P999, l.Max} {
			row = append(row, threeDigits(milliseconds(d)))
		}
		rows = append(rows, append(row, count(p.Limited), count(p.Overloaded), count(p.Expired), count(p.Faulty())))
	}
	for i, line := range alignRight(rows, 5) {
		if i == 0 {
			con.printf("%s%s%s\n", st.bold, line, st.reset)
			continue
		}
		con.printf("%s%s\n", line, remark(r, &r.Points[i-1]))
	}
	for i := range r.Points {
		p := &r.Points[i]
		for _, f := range p.Faults {
			con.printf("at %s/s: %s\n", rateOf(p.Rate), oneLine(f))
		}
		if late := p.Lag.P99; late > time.Millisecond && late > p.Latency.P99/2 {
			con.printf("at %s/s the load itself came late: 1 of 100 queries by %s or more\n", rateOf(p.Rate), took(late))
		}
	}
	for i := range r.Parts {
		printLoadParts(con, &r.Points[i], r.Parts[i])
	}
	printDispatched(con, r)
	if r.Highest != nil {
		bound := time.Duration(r.BoundMicros) * time.Microsecond
		if *r.Highest == 0 {
			con.printf("\n99 %% of queries within %s: at no rate that was tried\n", took(bound))
		} else {
			con.printf("\n99 %% of queries within %s: up to %s%s queries/s%s\n", took(bound), st.bold, rateOf(*r.Highest), st.reset)
		}
	}
	printVerdict(con, r)
}

func printLoadParts(con *console, p *load.Point, parts []loadPart) {
	if len(parts) == 0 {
		return
	}
	st := con.style(con.out)
	rows := [][]string{{"queries", "mean", "p50", "p99", "share"}}
	for i := range parts {
		row := []string{count(parts[i].Queries)}
		l := &parts[i].Latency
		for _, d := range []time.Duration{l.Mean, l.P50, l.P99} {
			row = append(row, threeDigits(float64(d)/float64(time.Microsecond)))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.0f %%", 100*parts[i].Share)))
	}
	con.printf("\nat %s/s, traced queries, µs\n", rateOf(p.Rate))
	for i, line := range alignRight(rows, 7) {
		if i == 0 {
			con.printf("%s%s%s\n", st.bold, line, st.reset)
			continue
		}
		con.printf("%s  %s\n", line, parts[i-1].Name)
	}
}

func printDispatched(con *console, r *loadResult) {
	if d := r.Dispatch; d != nil && r.GPU != nil {
		con.printf("\npolicy %s: %s on the CPU, %s on GPUs, %s", d.Policy, plural(d.CPUSteps, "step"), count(d.GPUSteps), plural(d.Migrations, "migration"))
		if p := d.Pool; p != nil {
			gpu := &p.Places[sched.GPU]
			con.printf("; %s on GPUs, %s batches of several", plural(gpu.Jobs, "query"), count(gpu.Batches))
		}
		con.printf("\n")
	}
	if c := r.ResultCache; c != nil {
		con.printf("answers kept: %s in %s, %.1f %% of queries found theirs\n", count(c.Entries), sizeOf(c.SizeBytes), 100*c.HitRate)
	}
}

func remark(r *loadResult, p *load.Point) string {
	switch {
	case p.Cut:
		return "  fails (ended early)"
	case r.BoundMicros > 0 && p.Holds:
		return "  holds"
	case r.interrupted && p == &r.Points[len(r.Points)-1]:
		return ""
	case r.BoundMicros > 0:
		return "  fails"
	}
	return ""
}

func printVerdict(con *console, r *loadResult) {
	v := r.Verdict
	if v == nil {
		return
	}
	if len(v.Growth) == 0 {
		return
	}
	// Over a shorter time, growth per hour would be mostly noise.
	const forPace = 10 * time.Minute
	pace := r.Points[0].Took >= forPace
	con.printf("\n%-20s %12s %12s", "over "+took(r.Points[0].Took), "first", "last")
	if pace {
		con.printf(" %12s", "an hour")
	}
	con.printf("\n")
	for _, g := range v.Growth {
		amount := func(n int64) string { return count(n) }
		if g.Name != "goroutines" {
			amount = func(n int64) string {
				if n < 0 {
					return "-" + sizeOf(-n)
				}
				return sizeOf(n)
			}
		}
		grew := ""
		if g.Grew {
			grew = "  grows"
		}
		con.printf("%-20s %12s %12s", g.Name, amount(g.First), amount(g.Last))
		if pace {
			con.printf(" %12s", amount(g.PerHour))
		}
		con.printf("%s\n", grew)
	}
	if v.Passed {
		con.printf("passed: nothing grows, nothing failed\n")
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
