package intersect

import (
	"fmt"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// benchDocs is the number of documents that lists of benchmarks are drawn from: those of
// GOV2.
const benchDocs = 25_200_000

// benchRounds is how many intersections one measurement has.
const benchRounds = 20

// benchSizes returns the lengths of the longer list and the ratios to measure: few and
// small ones on the emulator, whose times mean nothing.
func benchSizes() (longest, ratios []int) {
	if gputest.OnGPU() {
		return []int{10_000, 100_000, 1_000_000, 10_000_000}, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536}
	}
	return []int{4000}, []int{1, 128}
}

// BenchmarkIntersect measures every method by the device's clock, with positions and
// compaction, lists warm: billions of elements of both lists a second, and how the bytes
// of both lists and of the result, each once, compare with the copy bandwidth. A method
// that skips elements has more of either than a copy can.
func BenchmarkIntersect(b *testing.B) {
	r := newRig(b)
	bandwidth := gputest.CopyBandwidth(b, r.d)
	longest, ratios := benchSizes()
	for _, nb := range longest {
		listB := RandomList(2, nb, benchDocs)
		deviceB := List{DocIDs: r.upload(listB, 0)}
		for _, ratio := range ratios {
			if nb/ratio < 100 && ratio > 1 {
				continue
			}
			listA := RandomList(1, nb/ratio, benchDocs)
			deviceA := List{DocIDs: r.upload(listA, 0)}
			w, err := NewWorkspace(r.d, len(listA), max(len(listA), len(listB)))
			r.must(err)
			for _, positions := range []int{0, 2} {
				if positions > 0 && ratio != 1 && ratio != 16 {
					continue
				}
				out, err := NewCandidates(r.d, positions, len(listA))
				r.must(err)
				for _, m := range Methods() {
					b.Run(fmt.Sprintf("method=%s/na=%d/ratio=%d/positions=%t", m.Name, nb/ratio, ratio, positions > 0), func(b *testing.B) {
						var took time.Duration
						n := 0
						for b.Loop() {
							mean, err := Time(r.s, benchRounds, func() error { return m.Run(r.x, r.s, w, deviceA, deviceB, out) })
							if err != nil {
								b.Fatal(err)
							}
							took += mean
							n++
						}
						seconds := took.Seconds() / float64(n)
						elements := float64(len(listA) + len(listB))
						matches := float64(r.download(out.Count, 1)[0])
						bytes := 4 * (elements + matches*float64(1+positions))
						b.ReportMetric(seconds*1e6, "µs/intersection")
						b.ReportMetric(elements/seconds/1e9, "Gelements/s")
						b.ReportMetric(bytes/seconds/1e9/bandwidth*100, "%copy")
						b.ReportMetric(0, "ns/op")
					})
				}
				out.Free()
			}
			w.Free()
		}
	}
}
