package index

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
)

// Phase is a part of a build.
type Phase string

// In order; reordering and writing only with reordering, impacts only in a merge.
const (
	PhaseReading    Phase = "reading"
	PhaseMerging    Phase = "merging"
	PhaseReordering Phase = "reordering"
	PhaseWriting    Phase = "writing"
	PhaseImpacts    Phase = "impacts"
)

// Progress is the progress of a build.
type Progress struct {
	Phase Phase
	// Docs and Bytes (uncompressed) are indexed.
	Docs, Bytes int64
	// InputRead of InputTotal bytes, as stored, are read; total 0 if unknown.
	InputRead, InputTotal int64
	// BadRecords were skipped.
	BadRecords int64
	// Fraction of the phase done, 0 to 1; 0 if unknown.
	Fraction float64
}

const progressInterval = 100 * time.Millisecond

type meter struct {
	counts      inverter.Counts
	phase       atomic.Pointer[Phase]
	done, total atomic.Int64 // of the phase
	reader      corpus.Reader
	report      func(Progress)
	stop        chan struct{}
	stopped     sync.WaitGroup
}

// It calls report, which may be nil, until end.
func startMeter(reader corpus.Reader, report func(Progress)) *meter {
	m := &meter{reader: reader, report: report, stop: make(chan struct{})}
	m.enter(PhaseReading, 0, 0)
	if report == nil {
		return m
	}
	m.stopped.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-m.stop:
				report(m.progress())
				return
			case <-tick.C:
				report(m.progress())
			}
		}
	})
	return m
}

func (m *meter) enter(p Phase, done, total int64) {
	if now := m.phase.Load(); now == nil || *now != p {
		m.phase.Store(&p)
	}
	m.done.Store(done)
	m.total.Store(total)
}

func (m *meter) progress() Progress {
	p := Progress{Phase: *m.phase.Load(), Docs: m.counts.Docs.Load(), Bytes: m.counts.Bytes.Load(), BadRecords: m.counts.BadRecords.Load()}
	done, total := m.done.Load(), m.total.Load()
	if m.reader != nil {
		p.InputRead, p.InputTotal = m.reader.Progress()
		if p.Phase == PhaseReading {
			done, total = p.InputRead, p.InputTotal
		}
	}
	if total > 0 {
		p.Fraction = min(float64(done)/float64(total), 1)
	}
	return p
}

func (m *meter) end() {
	close(m.stop)
	m.stopped.Wait()
}
