package ao11

import (
	"time"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// The steps of a batch; plan.StepIntersect is between copy and score.
const (
	stepGather = "gather" // collecting queries and their lists
	stepCopy   = "copy"   // of lists to the device, and their decoding
	stepScore  = "score"  // of one query
)

// times are the ends of the steps of a batch.
type times struct {
	began, gathered, copied, intersected time.Time

	listBytes, batchBytes int64 // to the device
}

// trace adds the steps of a batch of size queries to the trace of one. Its scoring began at scored and ends now.
func (t *times) trace(q *engine.Query, device string, size int, candidates int64, scored time.Time) {
	if q.Trace == nil {
		return
	}
	q.Trace.Begin()
	add := func(from, to time.Time, s plan.Step) {
		s.Mode, s.Batch = plan.ModeAnd, size
		if s.Processor = plan.CPUName; s.Place == sched.GPU {
			s.Processor = device
		}
		q.Trace.AddFor(from, to.Sub(from), s)
	}
	add(t.began, t.gathered, plan.Step{Name: stepGather})
	add(t.gathered, t.copied, plan.Step{Name: stepCopy, Place: sched.GPU, BusBytes: t.listBytes})
	add(t.copied, t.intersected, plan.Step{Name: plan.StepIntersect, Place: sched.GPU, Traversal: name, BusBytes: t.batchBytes, Left: candidates})
	add(scored, time.Now(), plan.Step{Name: stepScore, Work: q.Answer.Work})
}
