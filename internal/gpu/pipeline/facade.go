package pipeline

import "github.com/griffin-search/griffin/internal/gpu/residency"

// Types of package residency, for users of an Engine.
type (
	// Leg is residency.Leg.
	Leg = residency.Leg
	// Filter is residency.Filter.
	Filter = residency.Filter
	// ColumnRange is residency.ColumnRange.
	ColumnRange = residency.ColumnRange
	// Segment is residency.Segment.
	Segment = residency.Segment
	// Selection is residency.Selection.
	Selection = residency.Selection
	// Memory is residency.Memory.
	Memory = residency.Memory
	// HostMemory is residency.HostMemory.
	HostMemory = residency.HostMemory
	// Form is residency.Form.
	Form = residency.Form
	// CacheStats is residency.CacheStats.
	CacheStats = residency.CacheStats
	// HostStats is residency.HostStats.
	HostStats = residency.HostStats
	// FormStats is residency.FormStats.
	FormStats = residency.FormStats
)

// Forms of a list.
const (
	FormFile   = residency.FormFile
	FormHost   = residency.FormHost
	FormDevice = residency.FormDevice
	FormImage  = residency.FormImage
)

// MaxRuns is residency.MaxRuns.
const MaxRuns = residency.MaxRuns

// ParseSelection is residency.ParseSelection.
func ParseSelection(text string) (Selection, error) { return residency.ParseSelection(text) }

// ParseMemory is residency.ParseMemory.
func ParseMemory(text string) (Memory, error) { return residency.ParseMemory(text) }

// ParseHostMemory is residency.ParseHostMemory.
func ParseHostMemory(text string) (HostMemory, error) { return residency.ParseHostMemory(text) }
