package sched

import (
	"testing"
	"time"
)

// TestGapOfGPUJobs checks that only arrivals for the GPU shorten the mean gap,
// for which an idle GPU waits for more jobs.
func TestGapOfGPUJobs(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 8, Lanes: 1, Window: ms, MaxQueue: 1000})
	for i := range 100 { // one every 10 µs, for the CPU
		arrive(t, s, time.Duration(i)*10*us, us, Never)
	}
	arrive(t, s, ms, Never, 20*us)
	if jobs := next(s, ms, GPU); len(jobs) != 1 {
		t.Errorf("the idle GPU begins %d jobs, want 1: it waits for jobs of the CPU", len(jobs))
	}
}
