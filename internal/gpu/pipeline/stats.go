package pipeline

import "sync/atomic"

// HostStats count what became of page-locked memory.
type HostStats struct {
	// Lists that are there now, the bytes that they take, and how many they may.
	Lists      int64 `json:"lists"`
	SizeBytes  int64 `json:"size_bytes"`
	LimitBytes int64 `json:"limit_bytes"`
	// Filled counts lists that were copied there from the index's file, Evictions those
	// that went to make room.
	Filled      int64 `json:"filled"`
	FilledBytes int64 `json:"filled_bytes"`
	Evictions   int64 `json:"evictions"`
}

// since returns the counts without those of before.
func (s HostStats) since(before *HostStats) HostStats {
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

// since returns the counts without those of before.
func (s FormStats) since(before *FormStats) FormStats {
	return FormStats{s.File - before.File, s.Host - before.Host, s.Device - before.Device, s.Image - before.Image}
}

// plus returns the sum of both.
func (s FormStats) plus(o *FormStats) FormStats {
	return FormStats{s.File + o.File, s.Host + o.Host, s.Device + o.Device, s.Image + o.Image}
}

// add counts n lists of a form.
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

// formCounts are FormStats that several goroutines count in.
type formCounts [numForms]atomic.Int64

func (c *formCounts) add(s *FormStats) {
	for f, n := range [numForms]int64{s.File, s.Host, s.Device, s.Image} {
		if n != 0 {
			c[f].Add(n)
		}
	}
}

func (c *formCounts) stats() FormStats {
	return FormStats{File: c[FormFile].Load(), Host: c[FormHost].Load(), Device: c[FormDevice].Load(), Image: c[FormImage].Load()}
}

// stats returns the counts as of now.
func (h *hostMemory) stats() HostStats {
	s := h.cache.snapshot()
	return HostStats{
		Lists: s.Lists, SizeBytes: s.SizeBytes, LimitBytes: h.limit.Load(),
		Filled: h.filled.Load(), FilledBytes: h.filledBytes.Load(), Evictions: s.Evictions,
	}
}
