package main

import (
	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/sched"
)

// gpuStatsOf returns the counts of a Runtime in the type of commands that also measure below
// the package griffin.
func gpuStatsOf(s *griffin.GPUStats) dispatch.GPUStats {
	out := dispatch.GPUStats{OnGPU: s.OnGPU, OnCPU: s.OnCPU}
	for i := range s.Devices {
		d := &s.Devices[i]
		out.Devices = append(out.Devices, dispatch.DeviceStats{
			Name: d.Name, GPU: d.GPU, Driver: d.Driver, CacheStats: dispatch.CacheStats(d.GPUCacheStats), UsedBytes: d.UsedBytes,
			LimitBytes: d.LimitBytes, Host: dispatch.HostStats(d.Host), Asked: dispatch.FormStats(d.Asked), BytesUploaded: d.BytesUploaded,
			BytesInPlace: d.BytesInPlace, Packed: d.Packed, Steps: d.Steps, Tallies: d.Tallies, Passes: dispatch.PassStats(d.Passes), Queries: d.Queries, Launches: d.Launches,
			Busy: d.Busy, Errors: d.Errors, Lost: d.Lost,
		})
	}
	return out
}

// dispatchStatsOf does the same for DispatchStats. It leaves out errors of unknown kinds.
func dispatchStatsOf(s *griffin.DispatchStats) dispatch.Stats {
	out := dispatch.Stats{
		Policy: dispatch.Policy(s.Policy), CPUSteps: s.CPUSteps, GPUSteps: s.GPUSteps, Migrations: s.Migrations,
		Restarted: s.Restarted, Preloaded: s.Preloaded, Bugs: s.Bugs, Shared: s.Shared, Helpers: s.Helpers,
	}
	for _, e := range s.Errors {
		if kind, ok := cost.ParseKind(e.Kind); ok {
			out.Errors = append(out.Errors, cost.ClassError{
				Kind: kind, From: e.From, Below: e.Below, Count: e.Count, Mean: e.Mean, Bias: e.Bias, Correction: e.Correction,
			})
		}
	}
	if s.Engine != nil {
		e := engine.Stats(*s.Engine)
		out.Engine = &e
	}
	if p := s.Pool; p != nil {
		out.Pool = &sched.Stats{
			Open: p.Open, Arrived: p.Arrived, Ended: p.Ended, Cancelled: p.Cancelled, Shed: p.Shed,
			Stolen: p.Stolen, Moved: p.Moved, Failed: p.Failed, Thresholds: p.Thresholds,
		}
		for i := range p.Places {
			out.Pool.Places[i] = sched.PlaceStats(p.Places[i])
		}
	}
	return out
}
