package cost

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Kind is a kind of work at a place. Each has its own linear model over quantities
// that its time depends on (basis.go); what a caller must fill in of Features is told
// here.
type Kind uint8

// Whole queries on one thread of the CPU, by the traversal that is chosen for them:
// Lists, Shortest, Second, Longest, Sum, Essential and K.
const (
	CPUTerm    Kind = iota // a single term, pruned
	CPUOr                  // any of several terms, pruned
	CPUAnd                 // all of the terms
	CPUTree                // phrases, groups, exclusions: iterators, document at a time
	CPUImpacts             // impact-ordered lists, score at a time
)

// Steps of a conjunction on one thread of the CPU.
const (
	// CPUBegin makes candidates of the shortest list: Shortest.
	CPUBegin Kind = iota + CPUImpacts + 1
	// CPUIntersect keeps those of Candidates that a further list has: Candidates and
	// Longest, the length of that list.
	CPUIntersect
	// CPUSelect takes the best K of Candidates.
	CPUSelect
)

// Work on a GPU, from the call to the answer in host memory, with lists that are
// there: Lists, Shortest, Second, Longest, Sum, Blocks, K, Batch and, for lists that
// are read over the bus where they lie, BytesBus.
const (
	GPUImagesOr  Kind = iota + CPUSelect + 1 // any of the terms, by images
	GPUImagesAnd                             // all of the terms, by images
	GPUImpacts                               // impact-ordered lists, by images
	GPUDirectOr                              // any of the terms, by compressed lists
	GPUDirectAnd                             // all of the terms, by compressed lists
	// GPUIntersect begins with the Shortest list (Candidates 0) or with Candidates,
	// which go to the GPU, and keeps those that Lists further ones have. What is kept
	// comes back.
	GPUIntersect
)

// Bringing lists to a GPU, which comes before the work on them.
const (
	// BringImages makes images of compressed lists: Lists, BytesBus from page-locked
	// memory, BytesFile from mapped files by way of the CPU, and Sum.
	BringImages Kind = iota + GPUIntersect + 1
	// BringHost makes page-locked copies of lists in mapped files: Lists, BytesFile.
	BringHost
	// BringDevice copies compressed lists to the GPU's memory: Lists, BytesBus, BytesFile.
	BringDevice

	NumKinds
)

var kindNames = [NumKinds]string{
	"cpu-term", "cpu-or", "cpu-and", "cpu-tree", "cpu-impacts", "cpu-begin", "cpu-intersect", "cpu-select",
	"gpu-images-or", "gpu-images-and", "gpu-impacts", "gpu-direct-or", "gpu-direct-and", "gpu-intersect",
	"bring-images", "bring-host", "bring-device",
}

// String returns the name of the kind, such as "gpu-direct-or".
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText implements encoding.TextMarshaler: a kind is told by its name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(name []byte) error {
	var ok bool
	if *k, ok = ParseKind(string(name)); !ok {
		return fmt.Errorf("there is no kind of work %q: %w", name, base.ErrBadInput)
	}
	return nil
}

// ParseKind returns the kind of a name, and whether there is one.
func ParseKind(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}
