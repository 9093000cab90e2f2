package decode_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Launches timed together.
const benchLaunches = 20

// benchSize returns n on a GPU, less on the emulator, where times mean nothing.
func benchSize(n int) int {
	if gputest.OnGPU() {
		return n
	}
	return min(n, 5000)
}

// benchList creates a list of n postings of random documents; two thirds of the
// frequencies are 1. The last list is cached, because creating 10 M postings is
// slow.
func benchList(n, meanGap int, seed uint64) (docIDs, freqs []uint32) {
	if l := &lastBenchList; l.meanGap == meanGap && l.seed == seed && len(l.docIDs) >= n {
		return l.docIDs[:n], l.freqs[:n]
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	docIDs, freqs = make([]uint32, n), make([]uint32, n)
	docID := ^uint32(0)
	for i := range docIDs {
		docID += 1 + uint32(rng.ExpFloat64()*(float64(meanGap)-0.5))
		docIDs[i] = docID
		freqs[i] = 1
		if rng.IntN(3) == 0 {
			freqs[i] += uint32(rng.ExpFloat64() * 3)
		}
	}
	lastBenchList.docIDs, lastBenchList.freqs, lastBenchList.meanGap, lastBenchList.seed = docIDs, freqs, meanGap, seed
	return docIDs, freqs
}

var lastBenchList struct {
	docIDs, freqs []uint32
	meanGap       int
	seed          uint64
}

// benchHostList caches the last list.
func benchHostList(c codec.Codec, n, meanGap int) *hostList {
	name := fmt.Sprint(c.Name(), n, meanGap)
	if lastHostList == nil || lastHostList.name != name {
		docIDs, freqs := benchList(n, meanGap, 1)
		lastHostList = newHostList(c, name, docIDs, freqs)
	}
	return lastHostList
}

var lastHostList *hostList

// read returns the bytes that decoding must read.
func (l *hostList) read(w decode.What) int {
	if w == decode.Freqs {
		return l.freqBytes + 4*len(l.directory)
	}
	return len(l.payload) - l.freqBytes + 4*len(l.directory)
}

// Whole lists, by device time. It reports G ints/s, bytes per posting, and the
// bytes read and written relative to the bandwidth of a copy.
func BenchmarkDecode(b *testing.B) {
	type shape struct{ n, gap, lists int }
	long := []shape{{10_000_000, 12, 1}, {10_000_000, 12, 8}, {10_000_000, 100, 1}}
	more := []shape{{10_000_000, 3, 1}, {10_000_000, 400, 1}, {1_000_000, 12, 1}, {1_000_000, 12, 64}, {100_000, 12, 1}, {10_000, 12, 1}, {1_000, 12, 1}}
	for _, c := range []struct {
		codec.Codec
		shapes []shape
	}{
		{codec.SIMDBP{}, append(long, more...)},
		{codec.EF{}, append(long, more...)},
		{codec.ParaPFor{}, long},
		{codec.PForDelta{}, long},
		{codec.PForDeltaRec{}, long},
		{codec.Raw{}, long[:1]},
	} {
		for i, s := range c.shapes {
			whats := []decode.What{decode.DocIDs}
			if i == 0 {
				whats = append(whats, decode.Gaps, decode.Freqs)
			}
			for _, w := range whats {
				b.Run(fmt.Sprintf("codec=%s/n=%d/gap=%d/lists=%d/what=%v", c.Name(), s.n, s.gap, s.lists, w), func(b *testing.B) {
					benchDecode(b, c.Codec, w, s.n, s.gap, s.lists)
				})
			}
		}
	}
}

func benchDecode(b *testing.B, c codec.Codec, w decode.What, n, gap, numLists int) {
	r := newRig(b)
	n = benchSize(n)
	if !gputest.OnGPU() {
		numLists = min(numLists, 2)
	}
	list := benchHostList(c, n, gap)
	lists := slices.Repeat([]*hostList{list}, numLists)
	d := r.upload(lists)
	levels := make([]decode.Batch, len(d.levels))
	arrays := make([]cuda.Buffer[decode.RecArray], len(d.levels))
	for i, level := range d.levels {
		levels[i] = decode.PlanArrays(level)
		arrays[i] = gputest.Upload(r.Session, level)
	}
	batch := decode.Plan(d.lists)
	onDevice := gputest.Upload(r.Session, d.lists)
	on, _ := decode.CodecOf(c)
	launch := func() {
		for i := range levels {
			r.Must(r.kernels.DecodeArrays(r.Stream, arrays[i], levels[i]))
		}
		if numLists == 1 {
			r.Must(r.kernels.DecodeList(r.Stream, on, w, d.lists[0]))
			return
		}
		r.Must(r.kernels.Decode(r.Stream, on, w, onDevice, batch))
	}
	launch()
	got := make([]uint32, d.out.Len())
	r.Must(cuda.FillWords(r.Stream, d.out, canary))
	launch()
	r.Must(cuda.CopyToHost(r.Stream, got, d.out))
	r.Must(r.Stream.Synchronize())
	size := len(list.want[w])
	for i := range lists {
		compare(b, c, list, w, got[i*size:(i+1)*size])
	}

	seconds := r.time(b, launch)
	values := float64(n * numLists)
	bytes := float64(numLists)*float64(list.read(w)) + 4*values
	copied := gputest.CopyBandwidth(b, r.Device)
	same := gputest.SameCopyBandwidth(b, r.Device, int(bytes), benchLaunches)
	b.ReportMetric(values/seconds/1e9, "Gints/s")
	b.ReportMetric(seconds*1e6, "µs/launch")
	b.ReportMetric(float64(list.read(w))/float64(n), "bytes/posting")
	b.ReportMetric(bytes/seconds/1e9, "GB/s")
	b.ReportMetric(100*bytes/seconds/1e9/copied, "%copy")
	b.ReportMetric(100*bytes/seconds/1e9/same, "%samecopy")
	record(b, r.Device, benchResult{
		Codec: c.Name(), What: w.String(), Postings: n, MeanGap: gap, Lists: numLists,
		Gints: values / seconds / 1e9, Micros: seconds * 1e6, BytesRead: float64(list.read(w)) / float64(n), OfCopy: bytes / seconds / 1e9 / copied,
		OfSameCopy: bytes / seconds / 1e9 / same,
	})
}

// The content of the file named by GRIFFIN_DECODE_JSON, written by
// BenchmarkDecode and BenchmarkDecodeRegression:
// docs/benchmarks/gpu-decode.json.
type benchFile struct {
	Time    string        `json:"time"`
	Commit  string        `json:"commit"` // GRIFFIN_COMMIT
	Device  string        `json:"device"`
	CopyGBs float64       `json:"copy_gb_per_s"`
	Results []benchResult `json:"results"`
}

type benchResult struct {
	Codec     string  `json:"codec"`
	What      string  `json:"what"`
	Postings  int     `json:"postings"`
	MeanGap   int     `json:"mean_gap"`
	Lists     int     `json:"lists"`
	Gints     float64 `json:"gints_per_s"`
	Micros    float64 `json:"us"`
	BytesRead float64 `json:"bytes_read_per_posting"`
	OfCopy    float64 `json:"of_copy"`
	// Relative to copies of the same size, timed the same way.
	OfSameCopy float64 `json:"of_same_copy,omitempty"`
}

var recorded benchFile

// record rewrites the file each time, so that an interrupted run keeps its
// results. The last run of a benchmark counts.
func record(b *testing.B, d *cuda.Device, result benchResult) {
	path := os.Getenv("GRIFFIN_DECODE_JSON")
	if path == "" {
		return
	}
	f := &recorded
	f.Time, f.Commit = time.Now().UTC().Format(time.RFC3339), os.Getenv("GRIFFIN_COMMIT")
	f.Device, f.CopyGBs = d.Info().Name, gputest.CopyBandwidth(b, d)
	key := func(r benchResult) string { return fmt.Sprint(r.Codec, r.What, r.Postings, r.MeanGap, r.Lists) }
	f.Results = slices.DeleteFunc(f.Results, func(r benchResult) bool { return key(r) == key(result) })
	f.Results = append(f.Results, result)
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (r *rig) time(b *testing.B, launch func()) float64 {
	took, launches := time.Duration(0), 0
	for b.Loop() {
		took += gputest.Elapsed(b, r.Stream, func() {
			for range benchLaunches {
				launch()
			}
		})
		launches += benchLaunches
	}
	return took.Seconds() / float64(launches)
}

// Three ways to convert gaps less one to DocIDs: sums within blocks, a sum over
// the list afterwards, and no sum. Ding09, Figure 4, shows the first and the
// last for PForDelta of §6.2.
func BenchmarkSums(b *testing.B) {
	c := codec.PForDeltaRec{}
	on, _ := decode.CodecOf(c)
	for _, n := range []int{2_000, 8_000, 32_000, 128_000, 512_000, 2_048_000, 10_000_000} {
		for _, how := range []string{"localised", "global", "none"} {
			b.Run(fmt.Sprintf("n=%d/sums=%s", n, how), func(b *testing.B) {
				r := newRig(b)
				n := benchSize(n)
				d := r.upload([]*hostList{benchHostList(c, n, 12)})
				level := decode.PlanArrays(d.levels[0])
				arrays := gputest.Upload(r.Session, d.levels[0])
				sums := gputest.Alloc[uint32](r.Session, decode.ScanWords(n))
				what := decode.Gaps
				if how == "localised" {
					what = decode.DocIDs
				}
				seconds := r.time(b, func() {
					r.Must(r.kernels.DecodeArrays(r.Stream, arrays, level))
					r.Must(r.kernels.DecodeList(r.Stream, on, what, d.lists[0]))
					if how == "global" {
						r.Must(r.kernels.Sum(r.Stream, d.out.Slice(0, n), sums))
					}
				})
				b.ReportMetric(float64(n)/seconds/1e9, "Gints/s")
			})
		}
	}
}

// Para-EF on the device against PForDelta on one CPU core for the same list
// (griffin18, Figure 12: up to 29.6 times). "resident" decodes a list on the
// device. "copied" includes the copy from page-locked memory and allocating and
// freeing the output, as in the paper.
func BenchmarkGriffin18Figure12(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000, 10_000_000} {
		for _, how := range []string{"resident", "copied"} {
			b.Run(fmt.Sprintf("n=%d/list=%s", n, how), func(b *testing.B) {
				benchFigure12(b, benchSize(n), how == "copied")
			})
		}
	}
}

func benchFigure12(b *testing.B, n int, copied bool) {
	r := newRig(b)
	docIDs, freqs := benchList(n, 12, 1)
	cpu := cpuPForDelta(b, docIDs, freqs)

	list := newHostList(codec.EF{}, "", docIDs, freqs)
	on, _ := decode.CodecOf(codec.EF{})
	words := len(list.payload) / 4
	host, err := cuda.AllocHost[uint32](r.Device, words+len(list.directory))
	r.Must(err)
	defer func() { r.Must(host.Free()) }()
	for i := range words {
		host.Data()[i] = binary.LittleEndian.Uint32(list.payload[4*i:])
	}
	copy(host.Data()[words:], list.directory)
	bytes := gputest.Upload(r.Session, host.Data())
	source := decode.Source{Payload: bytes.Slice(0, words), Directory: bytes.Slice(words, bytes.Len()), NumPostings: n}
	out := gputest.Alloc[uint32](r.Session, len(list.want[decode.DocIDs]))
	step := func() {
		out := out
		if copied {
			r.Must(cuda.CopyToDevice(r.Stream, bytes, host.Data()))
			out, err = cuda.AllocAsync[uint32](r.Stream, out.Len())
			r.Must(err)
		}
		decoded, err := decode.NewList(source, cuda.Buffer[uint32]{}, out)
		r.Must(err)
		r.Must(r.kernels.DecodeList(r.Stream, on, decode.DocIDs, decoded))
		if copied {
			r.Must(out.FreeAsync(r.Stream))
		}
	}
	step()
	r.Must(r.Stream.Synchronize())
	gpu := r.time(b, step)
	b.ReportMetric(cpu.Seconds()*1e6, "µs-CPU")
	b.ReportMetric(gpu*1e6, "µs-GPU")
	b.ReportMetric(cpu.Seconds()/gpu, "x-CPU-PForDelta")
}

// cpuPForDelta returns the time of one CPU core, the minimum of a few runs.
func cpuPForDelta(b *testing.B, docIDs, freqs []uint32) time.Duration {
	b.Helper()
	c := codec.PForDelta{}
	list := newHostList(c, "", docIDs, freqs)
	out := make([]uint32, (len(docIDs)+codec.BlockLen-1)/codec.BlockLen*codec.BlockLen)
	best := time.Duration(1<<63 - 1)
	for range 5 {
		start := time.Now()
		base := codec.NoBase
		for i := 0; i < len(docIDs); i += codec.BlockLen {
			entry := list.directory[i/codec.BlockLen*decode.EntryWords:]
			n := min(codec.BlockLen, len(docIDs)-i)
			if _, err := c.DecodeDocIDs((*[codec.BlockLen]uint32)(out[i:]), list.payload[entry[2]:], base, n, uint8(entry[3]>>16)); err != nil {
				b.Fatal(err)
			}
			base = entry[1]
		}
		best = min(best, time.Since(start))
	}
	if !slices.Equal(out[:len(docIDs)], docIDs) {
		b.Fatal("PForDelta on the CPU decodes wrong values")
	}
	return best
}
