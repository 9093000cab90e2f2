package server

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/griffin-search/griffin"
)

// DefaultRefresh is the interval at which a server looks for new commits.
const DefaultRefresh = 500 * time.Millisecond

// FollowOptions are options of Handler.Follow.
type FollowOptions struct {
	// Interval between looks; 0: only on Now.
	Every time.Duration
	// Now requests a look at once.
	Now <-chan os.Signal
	// Changed, if not nil, is called after each new commit; Follow waits for it.
	Changed func()
}

// Follow serves the commits of other processes until ctx ends or the index is
// closed. Searches that run keep their snapshot. A folder that was exchanged for
// another index is followed, too.
//
// If the index cannot be read, the last commit that was read is still served, and
// the error is logged once.
func (h *Handler) Follow(ctx context.Context, o FollowOptions) {
	var tick <-chan time.Time
	if o.Every > 0 {
		ticker := time.NewTicker(o.Every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-o.Now:
		}
		changed, err := h.state.refresh()
		if errors.Is(err, griffin.ErrClosed) {
			return
		}
		if changed && o.Changed != nil {
			o.Changed()
		}
	}
}

type followMetrics struct {
	refreshes *prometheus.CounterVec // result
	failing   prometheus.Gauge
}

func newFollowMetrics(registry *prometheus.Registry) followMetrics {
	m := followMetrics{
		refreshes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "griffin_index_refreshes_total", Help: "Looks for a new commit that found one (changed) or failed.",
		}, []string{"result"}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "griffin_index_refresh_failing", Help: "1 if the last look for a new commit failed, and an older commit is served.",
		}),
	}
	m.refreshes.WithLabelValues("changed")
	m.refreshes.WithLabelValues("failed")
	registry.MustRegister(m.refreshes, m.failing)
	return m
}

// refresh looks once, for one goroutine at a time.
func (h *handler) refresh() (changed bool, err error) {
	changed, err = h.backend.refresh()
	if errors.Is(err, griffin.ErrClosed) {
		return false, err
	}
	m := &h.metrics.follow
	if err != nil {
		m.refreshes.WithLabelValues("failed").Inc()
		m.failing.Set(1)
		if err.Error() != h.refreshFailed {
			h.refreshFailed = err.Error()
			h.Logger.Error("the index cannot be refreshed; the last commit that was read is still served", "error", err)
		}
		return false, err
	}
	m.failing.Set(0)
	if h.refreshFailed != "" {
		h.refreshFailed = ""
		h.Logger.Info("the index can be refreshed again")
	}
	if !changed {
		return false, nil
	}
	h.damaged.Store(false) // the new commit may have other files
	m.refreshes.WithLabelValues("changed").Inc()
	stats, err := h.backend.stats()
	if err != nil {
		h.Logger.Error("a new commit is served, whose statistics cannot be read", "error", err)
		return true, nil
	}
	h.Logger.Info("a new commit is served", "generation", stats.Generation, "documents", stats.NumDocs, "segments", len(stats.Segments))
	return true, nil
}
