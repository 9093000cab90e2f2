package cost

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Kind is a kind of work at a place, with its own model (basis.go). The
// comments list the required Features.
type Kind uint8

// Whole queries on one thread of the CPU: Lists, Shortest, Second, Longest,
// Sum, Essential and K.
const (
	CPUTerm    Kind = iota // a single term, pruned
	CPUOr                  // any of several terms, pruned
	CPUAnd                 // all of the terms
	CPUTree                // phrases, groups, exclusions: iterators, document at a time
	CPUImpacts             // impact-ordered lists, score at a time
)

// Steps of a conjunction on one thread of the CPU.
const (
	// CPUBegin takes candidates from the shortest list: Shortest.
	CPUBegin Kind = iota + CPUImpacts + 1
	// CPUIntersect keeps the Candidates that another list, of length Longest,
	// contains.
	CPUIntersect
	// CPUSelect takes the best K of Candidates.
	CPUSelect
)

// Work on a GPU with available lists, until the answer is in host memory:
// Lists, Shortest, Second, Longest, Sum, Blocks, K, Batch and, for lists in
// host memory, BytesBus.
const (
	GPUImagesOr  Kind = iota + CPUSelect + 1 // any of the terms, by images
	GPUImagesAnd                             // all of the terms, by images
	GPUImpacts                               // impact-ordered lists, by images
	GPUPackedOr                              // any of the terms, by compressed lists
	GPUPackedAnd                             // all of the terms, by compressed lists
	// GPUIntersect begins with the Shortest list (Candidates 0) or with
	// Candidates, which are copied to the GPU, keeps those that Lists further
	// lists contain, and copies them back.
	GPUIntersect
)

// Loading lists to a GPU.
const (
	// BringImages creates images of compressed lists: Lists, BytesBus from
	// page-locked memory, BytesFile from mapped files through the CPU, and Sum.
	BringImages Kind = iota + GPUIntersect + 1
	// BringHost creates page-locked copies of lists in mapped files: Lists,
	// BytesFile.
	BringHost
	// BringDevice copies compressed lists to the GPU's memory: Lists, BytesBus,
	// BytesFile.
	BringDevice

	NumKinds
)

var kindNames = [NumKinds]string{
	"cpu-term", "cpu-or", "cpu-and", "cpu-tree", "cpu-impacts", "cpu-begin", "cpu-intersect", "cpu-select",
	"gpu-images-or", "gpu-images-and", "gpu-impacts", "gpu-packed-or", "gpu-packed-and", "gpu-intersect",
	"bring-images", "bring-host", "bring-device",
}

func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText implements encoding.TextMarshaler with the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(name []byte) error {
	var ok bool
	if *k, ok = ParseKind(string(name)); !ok {
		return fmt.Errorf("there is no kind of work %q: %w", name, base.ErrBadInput)
	}
	return nil
}

// formerNames are of earlier versions of the file.
var formerNames = map[string]Kind{"gpu-direct-or": GPUPackedOr, "gpu-direct-and": GPUPackedAnd}

// ParseKind returns the kind with a name, and whether it exists.
func ParseKind(name string) (Kind, bool) {
	if k, ok := formerNames[name]; ok {
		return k, true
	}
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}
