package residency

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Selection selects the devices for queries. The zero value is the CPU only.
type Selection struct {
	// Auto selects all usable GPUs, possibly none; All fails if there is none; Ordinals selects
	// GPUs by number.
	Auto, All bool
	Ordinals  []int
}

const (
	selectCPU  = "cpu"
	selectGPU  = "gpu"
	selectAuto = "auto"
)

// ParseSelection parses "cpu" (or ""), "gpu", "auto", or GPU numbers such as "0" or "0,1".
// The error wraps base.ErrBadInput.
func ParseSelection(text string) (Selection, error) {
	switch text {
	case "", selectCPU:
		return Selection{}, nil
	case selectGPU:
		return Selection{All: true}, nil
	case selectAuto:
		return Selection{Auto: true}, nil
	}
	var s Selection
	for number := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return Selection{}, fmt.Errorf("device %q: want cpu, gpu, auto, or numbers of GPUs such as 0 or 0,1: %w", text, base.ErrBadInput)
		}
		if slices.Contains(s.Ordinals, int(n)) {
			return Selection{}, fmt.Errorf("device %q: GPU %d twice: %w", text, n, base.ErrBadInput)
		}
		s.Ordinals = append(s.Ordinals, int(n))
	}
	return s, nil
}

// CPU reports whether no GPU is selected.
func (s Selection) CPU() bool { return !s.Auto && !s.All && len(s.Ordinals) == 0 }

// Memory limits the memory of each device for posting lists, in bytes or in per cent of
// Options.IndexBytes or, if that is 0, of the device's total (for host memory, the available)
// memory. The zero value allows 90 per cent of the free memory.
type Memory struct {
	Bytes   int64
	Percent float64
}

var memoryUnits = map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40}

// ParseMemory parses "" (zero value), per cent of the index ("10%"), or bytes with an
// optional binary unit ("2000000000", "512MiB", "40G"). The error wraps base.ErrBadInput.
func ParseMemory(text string) (Memory, error) { return parseMemory("GPU memory", text) }

// what names the memory in errors.
func parseMemory(what, text string) (Memory, error) {
	bad := fmt.Errorf("%s %q: want bytes such as 40GiB, or per cent of the index such as 10%%: %w", what, text, base.ErrBadInput)
	if text == "" {
		return Memory{}, nil
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(p > 0 && p <= 10_000) {
			return Memory{}, bad
		}
		return Memory{Percent: p}, nil
	}
	digits := strings.TrimRight(text, "kKmMgGtTiIbB ")
	unit := strings.ToLower(strings.TrimSpace(text[len(digits):]))
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return Memory{}, bad
	}
	factor := int64(1)
	if unit != "" && unit != "b" {
		var ok bool
		if factor, ok = memoryUnits[unit[0]]; !ok || !slices.Contains([]string{"", "b", "ib", "i"}, unit[1:]) {
			return Memory{}, bad
		}
	}
	size := n * float64(factor)
	if !(size >= 1 && size < 1<<62) { // or NaN
		return Memory{}, bad
	}
	return Memory{Bytes: int64(size)}, nil
}

// limit returns the bytes that lists may take on a device with free bytes free, with indexBytes
// of posting lists.
func (m Memory) limit(free uint64, indexBytes int64) int64 {
	// The rest is for batches, decoding, lengths, and other processes.
	most := int64(free / 10 * 9)
	switch {
	case m.Bytes > 0:
		return min(m.Bytes, most)
	case m.Percent > 0:
		return min(int64(m.Percent/100*float64(indexBytes)), most)
	}
	return most
}
