package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Method is one way to intersect two uncompressed lists.
type Method struct {
	Name string // such as merge-path
	Does string // one line
	Run  func(x *Intersector, s *cuda.Stream, w *Workspace, a, b List, out Candidates) error
}

// Methods returns all, the papers' binary search first. All give the same
// candidates; A is the shorter list.
func Methods() []Method {
	methods := []Method{{
		Name: "binary", Does: "a thread for each element of A, a binary search in B",
		Run: func(x *Intersector, s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
			return x.MergeFind(s, w, 0, a, b, out)
		},
	}}
	for levels := 1; levels <= MaxLevels; levels++ {
		methods = append(methods, Method{
			Name: fmt.Sprintf("merge-find-%d", levels), Does: fmt.Sprintf("parallel merge find with %d levels of splitters", levels),
			Run: func(x *Intersector, s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
				return x.MergeFind(s, w, levels, a, b, out)
			},
		})
	}
	return append(methods,
		Method{"probe", "a binary search for each element of A, upper levels in shared memory, four at once", (*Intersector).Probe},
		Method{"merge-path", "tiles of both lists merged in shared memory", (*Intersector).MergePath},
		Method{"adaptive", "merge-path or probe by the ratio of the lengths", (*Intersector).Adaptive})
}
