package intersect

import (
	"fmt"
	"testing"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// The number of documents of GOV2.
const benchDocs = 25_200_000

// Intersections per measurement.
const benchRounds = 20

func (r *rig) benchTime(b *testing.B, put func() error) float64 {
	var took time.Duration
	n := 0
	for b.Loop() {
		mean, err := Time(r.Stream, benchRounds, put)
		if err != nil {
			b.Fatal(err)
		}
		took += mean
		n++
	}
	b.ReportMetric(0, "ns/op")
	return took.Seconds() / float64(n)
}

// benchSizes returns few small lengths on the emulator, whose times mean
// nothing.
func benchSizes() (longest, ratios []int) {
	if gputest.OnGPU() {
		return []int{10_000, 100_000, 1_000_000, 10_000_000}, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536}
	}
	return []int{4000}, []int{1, 128}
}

// Device time, with positions and compaction, and warm lists. Reports billions
// of elements of both lists per second, and the bytes of both lists and of the
// result relative to the copy bandwidth, which a method that skips elements can
// exceed.
func BenchmarkIntersect(b *testing.B) {
	r := newRig(b)
	bandwidth := gputest.CopyBandwidth(b, r.Device)
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
			w, err := NewWorkspace(r.Device, len(listA), max(len(listA), len(listB)))
			r.Must(err)
			for _, positions := range []int{0, 2} {
				if positions > 0 && ratio != 1 && ratio != 16 {
					continue
				}
				out, err := NewCandidates(r.Device, positions, len(listA))
				r.Must(err)
				for _, m := range Methods() {
					b.Run(fmt.Sprintf("method=%s/na=%d/ratio=%d/positions=%t", m.Name, nb/ratio, ratio, positions > 0), func(b *testing.B) {
						seconds := r.benchTime(b, func() error { return m.Run(r.x, r.Stream, w, deviceA, deviceB, out) })
						elements := float64(len(listA) + len(listB))
						matches := float64(r.download(out.Count, 1)[0])
						bytes := 4 * (elements + matches*float64(1+positions))
						b.ReportMetric(seconds*1e6, "µs/intersection")
						b.ReportMetric(elements/seconds/1e9, "Gelements/s")
						b.ReportMetric(bytes/seconds/1e9/bandwidth*100, "%copy")
					})
				}
				out.Free()
			}
			w.Free()
		}
	}
}

// Device time with a list of simdbp, including decoding, positions and
// compaction: with selected blocks searched, selected blocks merged, or all
// blocks merged.
func BenchmarkIntersectBlocks(b *testing.B) {
	r := newRig(b)
	k := decode.New(r.Device)
	b.Cleanup(func() { r.Must(k.Close()) })
	coder, err := codec.Lookup("simdbp")
	r.Must(err)
	longest, ratios := benchSizes()
	for _, nb := range longest {
		listB := RandomList(2, nb, benchDocs)
		blocks, whole := r.encodedWhole(k, coder, listB)
		decoded, err := cuda.Alloc[uint32](r.Device, blocks.NumBlocks()*codec.BlockLen)
		r.Must(err)
		sel, err := NewSelection(r.Device, blocks.NumBlocks())
		r.Must(err)
		for _, ratio := range ratios {
			if nb/ratio < 100 && ratio > 1 {
				continue
			}
			a := List{DocIDs: r.upload(RandomList(1, nb/ratio, benchDocs), 0)}
			w, err := NewWorkspace(r.Device, a.bound(), max(a.bound(), len(listB)))
			r.Must(err)
			out, err := NewCandidates(r.Device, 2, a.bound())
			r.Must(err)
			for _, how := range []struct {
				name     string
				crossing int // 0: without a selection
			}{{"search", 1}, {"merge", never}, {"merge-all", 0}} {
				b.Run(fmt.Sprintf("how=%s/na=%d/ratio=%d", how.name, nb/ratio, ratio), func(b *testing.B) {
					r.x.BlockCrossing = how.crossing
					seconds := r.benchTime(b, func() error {
						if how.crossing != 0 {
							return r.x.IntersectBlocks(r.Stream, w, a, blocks, sel, decoded, out)
						}
						if err := whole(decoded); err != nil {
							return err
						}
						return r.x.MergePath(r.Stream, w, a, List{DocIDs: decoded.Slice(0, len(listB))}, out)
					})
					b.ReportMetric(seconds*1e6, "µs/intersection")
					b.ReportMetric(float64(a.bound()+len(listB))/seconds/1e9, "Gelements/s")
				})
			}
			out.Free()
			w.Free()
		}
		sel.Free()
		r.Must(decoded.Free())
	}
}
