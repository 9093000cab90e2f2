package index

import (
	"sync"
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
	counts  inverter.Counts
	reader  corpus.Reader
	report  func(Progress)
	stop    chan struct{}
	stopped sync.WaitGroup

	mu          sync.Mutex
	phase       Phase
	done, total int64 // of the phase
}

// It calls report, which may be nil, until end.
func startMeter(reader corpus.Reader, report func(Progress)) *meter {
	m := &meter{reader: reader, report: report, stop: make(chan struct{}), phase: PhaseReading}
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
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase, m.done, m.total = p, done, total
}

func (m *meter) progress() Progress {
	m.mu.Lock()
	p := Progress{Phase: m.phase}
	done, total := m.done, m.total
	m.mu.Unlock()
	p.Docs, p.Bytes, p.BadRecords = m.counts.Docs.Load(), m.counts.Bytes.Load(), m.counts.BadRecords.Load()
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
