package residency

import "sync/atomic"

// HostStats describe the page-locked memory; griffin.HostMemoryStats documents the fields.
type HostStats struct {
	Lists       int64 `json:"lists"`
	SizeBytes   int64 `json:"size_bytes"`
	LimitBytes  int64 `json:"limit_bytes"`
	Filled      int64 `json:"filled"`
	FilledBytes int64 `json:"filled_bytes"`
	Evictions   int64 `json:"evictions"`
}

// Since returns the counts since before; other fields are unchanged.
func (s HostStats) Since(before *HostStats) HostStats {
	s.Filled -= before.Filled
	s.FilledBytes -= before.FilledBytes
	s.Evictions -= before.Evictions
	return s
}

// FormStats count lists by form.
type FormStats struct {
	File   int64 `json:"file"`
	Host   int64 `json:"host"`
	Device int64 `json:"device"`
	Image  int64 `json:"image"`
}

// Since returns the counts since before.
func (s FormStats) Since(before *FormStats) FormStats {
	return FormStats{s.File - before.File, s.Host - before.Host, s.Device - before.Device, s.Image - before.Image}
}

// Plus returns the sum of both.
func (s FormStats) Plus(o *FormStats) FormStats {
	return FormStats{s.File + o.File, s.Host + o.Host, s.Device + o.Device, s.Image + o.Image}
}

func (s *FormStats) add(f Form, n int64) {
	switch f {
	case FormFile:
		s.File += n
	case FormHost:
		s.Host += n
	case FormDevice:
		s.Device += n
	case FormImage:
		s.Image += n
	}
}

// FormCounts are FormStats for concurrent use.
type FormCounts [numForms]atomic.Int64

// Add is safe for concurrent use.
func (c *FormCounts) Add(s *FormStats) {
	for f, n := range [numForms]int64{s.File, s.Host, s.Device, s.Image} {
		if n != 0 {
			c[f].Add(n)
		}
	}
}

// Stats returns the counts as of now.
func (c *FormCounts) Stats() FormStats {
	return FormStats{File: c[FormFile].Load(), Host: c[FormHost].Load(), Device: c[FormDevice].Load(), Image: c[FormImage].Load()}
}

func (h *hostMemory) stats() HostStats {
	s := h.cache.snapshot()
	return HostStats{
		Lists: s.Lists, SizeBytes: s.SizeBytes, LimitBytes: h.limit.Load(),
		Filled: h.filled.Load(), FilledBytes: h.filledBytes.Load(), Evictions: s.Evictions,
	}
}
