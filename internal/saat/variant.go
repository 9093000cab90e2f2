package saat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

const (
	// Windowed is the default: as narrow as the query allows, window by window.
	Windowed = "windowed"
	// Flat is as narrow as the query allows, in score-at-a-time order.
	Flat = "flat"
	// Dynamic is a slice behind a pointer, zeroed before each query.
	Dynamic = "dynamic"
	// Array is an array of MaxStaticDocs accumulators within the engine: access needs no
	// pointer and no bounds check. The used part is zeroed before each query.
	Array = "array"
	// Paged is Dynamic in pages of 2^floor(log2 sqrt(D)) accumulators, each with a flag that
	// requests zeroing before first use: Jia, Trotman and O'Keefe, "Efficient accumulator
	// initialisation", ADCS 2010; the paper's dynamic allocation (§5).
	Paged = "paged"
	// PagedArray is Array with pages: the array of §5.
	PagedArray = "paged-array"
)

// Accumulators returns all names, the default first.
func Accumulators() []string {
	return []string{Windowed, Flat, Dynamic, Array, Paged, PagedArray}
}

// Variant selects an Engine's algorithm; zero is the default.
type Variant struct {
	// Accumulators is one of the names; "" is Windowed.
	Accumulators string
	// Heap is the paper's algorithm for the top k, 1 or 2; 0 is 2. Flat and Windowed have none.
	Heap int
	// Outlined calls a function per posting instead of inlining the update.
	Outlined bool
	// Counted sets Counters.
	Counted bool
}

func (v *Variant) heaped() bool { return v.Accumulators != Windowed && v.Accumulators != Flat }

// ParseVariant parses Variant.String: accumulators and, after a colon, non-default options, as
// in "array:heap=1,outlined". The error wraps base.ErrBadInput.
func ParseVariant(text string) (Variant, error) {
	name, rest, options := strings.Cut(text, ":")
	v := Variant{Accumulators: name}
	if options {
		for part := range strings.SplitSeq(rest, ",") {
			switch part {
			case "heap=1":
				v.Heap = 1
			case "heap=2":
				v.Heap = 2
			case "outlined":
				v.Outlined = true
			case "counted":
				v.Counted = true
			default:
				return v, fmt.Errorf("accumulators %q: %q is not one of heap=1, heap=2, outlined, counted: %w", text, part, base.ErrBadInput)
			}
		}
	}
	return v, v.normalise()
}

func (v *Variant) normalise() error {
	if v.Accumulators == "" {
		v.Accumulators = Windowed
	}
	if !slices.Contains(Accumulators(), v.Accumulators) {
		return fmt.Errorf("accumulators %q are not one of %s: %w", v.Accumulators, strings.Join(Accumulators(), ", "), base.ErrBadInput)
	}
	if !v.heaped() {
		if v.Heap != 0 || v.Outlined || v.Counted {
			return fmt.Errorf("accumulators %s have no heap: %w", v.Accumulators, base.ErrBadInput)
		}
		return nil
	}
	if v.Heap == 0 {
		v.Heap = 2
	}
	if v.Heap < 1 || v.Heap > 2 {
		return fmt.Errorf("heap algorithm %d is not 1 or 2: %w", v.Heap, base.ErrBadInput)
	}
	return nil
}

// String is the format of ParseVariant.
func (v Variant) String() string {
	if v.normalise() != nil || !v.heaped() {
		return v.Accumulators
	}
	s := fmt.Sprintf("%s:heap=%d", v.Accumulators, v.Heap)
	if v.Outlined {
		s += ",outlined"
	}
	if v.Counted {
		s += ",counted"
	}
	return s
}

// Counters counts the clauses of a heap's algorithm (Tables 2 and 3 of the paper). Only a
// Counted Variant sets them; they add up over queries.
type Counters struct {
	// Filled: a document's first score took a free entry (Algorithm 1, line 6; Algorithm 2,
	// line 6).
	Filled uint64 `json:"filled"`
	// FilledBefore: there were free entries, but the document had one (Algorithm 1, line 3 with
	// line 4 false; Algorithm 2, line 4 false).
	FilledBefore uint64 `json:"filled_before"`
	// Updated: the document was in the heap (Algorithm 1, line 12; 2, line 15).
	Updated uint64 `json:"updated"`
	// Inserted: the document entered the heap (Algorithm 1, line 17; 2, line 13).
	Inserted uint64 `json:"inserted"`
	// Tied: the score equals the heap's least, but the DocID comes after (part of Algorithm 1's
	// line 16; Algorithm 2, line 2 true). The paper does not order equal scores.
	Tied uint64 `json:"tied"`
	// Below: the heap did not change (Algorithm 1, line 16 false; 2, line 2 false).
	Below uint64 `json:"below"`
}

// Add adds o to c.
func (c *Counters) Add(o Counters) {
	c.Filled += o.Filled
	c.FilledBefore += o.FilledBefore
	c.Updated += o.Updated
	c.Inserted += o.Inserted
	c.Tied += o.Tied
	c.Below += o.Below
}
