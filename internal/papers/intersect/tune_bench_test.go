package intersect

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/intersecttest"
)

// Includes gathering, on two lists of the same length.
func BenchmarkTune(b *testing.B) {
	r := newRig(b)
	module, err := r.Device.LoadImage("intersecttest", intersecttest.Image)
	r.Must(err)
	b.Cleanup(func() { r.Must(module.Unload()) })
	sizes := []int{10_000, 100_000, 300_000, 1_000_000, 10_000_000}
	if !gputest.OnGPU() {
		sizes = []int{4000}
	}
	for _, n := range sizes {
		listA, listB := RandomList(1, n, benchDocs), RandomList(2, n, benchDocs)
		deviceA, deviceB := List{DocIDs: r.upload(listA, 0)}, List{DocIDs: r.upload(listB, 0)}
		w, err := NewWorkspace(r.Device, n, n+1<<15) // the largest tiles may be larger than the lists
		r.Must(err)
		out, err := NewCandidates(r.Device, 0, n)
		r.Must(err)
		for _, v := range intersecttest.Variants {
			l := loader{device: r.Device, image: module}
			variant := mergeKernels{
				items:     v.Items,
				partition: load[pairParams](&l, fmt.Sprintf("intersecttest_partition_%d", v.Items)),
				merge:     load[pairParams](&l, fmt.Sprintf("intersecttest_merge_%d_%d", v.Items, v.Blocks)),
			}
			r.Must(l.err)
			for _, partition := range []bool{false, true} {
				policy, kernels := tuning, r.x.kernels.merges
				r.x.kernels.merges = [2]mergeKernels{variant, variant}
				tuning.partitionTiles = MaxElements
				if partition {
					tuning.partitionTiles = 0
				}
				b.Run(fmt.Sprintf("n=%d/items=%d/blocks=%d/partition=%t", n, v.Items, v.Blocks, partition), func(b *testing.B) {
					seconds := r.benchTime(b, func() error { return r.x.MergePath(r.Stream, w, deviceA, deviceB, out) })
					b.ReportMetric(seconds*1e6, "µs/intersection")
					b.ReportMetric(float64(2*n)/seconds/1e9, "Gelements/s")
					b.ReportMetric(float64(variant.merge.Registers()), "registers")
				})
				tuning, r.x.kernels.merges = policy, kernels
			}
		}
		out.Free()
		w.Free()
	}
}
