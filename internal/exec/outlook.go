package exec

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// outlook is what is known of a stage before it runs, or before the rest of it does.
type outlook struct {
	// lengths of the lists, over all segments, in the order of the stage: rising.
	lengths []int64
	// expected is how many documents are in the first lists up to each, as counted
	// where they have run and else as estimated.
	expected []float64
	// whole are the features of all of the stage; Essential and Tight of a pruned OR are
	// only known if it isWeighed.
	whole     cost.Features
	isWeighed bool
	// upTo are what the lists up to each have in all on a GPU that reads them where they
	// lie, if isSummed.
	upTo     []reading
	isSummed bool
	// located says where the lists are, if isLocated; where all have images, it may say no more
	// than that.
	located   pipeline.Located
	isLocated bool
	// byImages is what withImages has predicted, 0: nothing yet.
	byImages time.Duration
}

// look fills the outlook of the run's stage.
func (r *placedRun) look() {
	p, st := r.plan, &r.plan.stages[r.stage]
	o := &r.outlook
	o.lengths, o.expected, o.isSummed, o.byImages = o.lengths[:0], o.expected[:0], false, 0
	o.located, o.isLocated = pipeline.Located{Forms: o.located.Forms[:0], Compressed: o.located.Compressed[:0]}, false
	switch {
	case p.mode == ModeSaat:
		for i := range p.saat.query.Terms {
			o.lengths = append(o.lengths, int64(p.saat.query.Terms[i].List.DocFreq))
		}
	case st.flat:
		for _, j := range st.order {
			o.lengths = append(o.lengths, int64(p.docFreqs[st.leaves[j].(*leaf).terms[0]]))
		}
	default:
		for _, n := range p.docFreqs {
			o.lengths = append(o.lengths, int64(n))
		}
	}
	o.whole = cost.Features{Lists: len(o.lengths), K: p.k, Batch: 1}
	f := &o.whole
	for i, n := range o.lengths {
		f.Sum += n
		f.Longest = max(f.Longest, n)
		switch {
		case i == 0 || n < f.Shortest:
			f.Shortest, f.Second = n, f.Shortest
		case i == 1 || n < f.Second:
			f.Second = n
		}
	}
	o.isWeighed = !st.flat || st.kind != traverse.Or || len(o.lengths) < 2 || f.Sum <= manyPostings
}

// weigh finds out how many postings are essential, which takes a while.
func (r *placedRun) weigh() {
	if r.isWeighed {
		return
	}
	r.isWeighed = true
	p, st, f := r.plan, &r.plan.stages[r.stage], &r.whole
	for i := range p.searcher.snapshot.Segments {
		legs, live := st.segmentLegs(i), p.searcher.snapshot.Segments[i].Live.Words()
		f.Essential += traverse.Essential(legs, p.k, live)
		f.Tight += traverse.EssentialAt(legs, p.k, live, cost.TightFactor)
	}
}

// bounded returns the features of the whole stage on the CPU for the least time that it
// can take: as if no more than the shortest list were essential.
func (r *placedRun) bounded() cost.Features {
	f := r.whole
	if !r.isWeighed {
		f.Essential, f.Tight = max(f.Shortest, 1), max(f.Shortest, 1)
	}
	return f
}

// hasView attaches the run to the GPU; false, and why not is noted, if it is not to be had.
func (r *placedRun) hasView() bool {
	err := r.attach()
	if err != nil {
		r.refusal = err.Error()
	}
	return err == nil
}

// locate finds out where the lists are; false if the GPU is not to be had.
func (r *placedRun) locate() bool {
	if !r.hasView() {
		return false
	}
	r.view.Locate(&r.plan.stages[r.stage].gpu, &r.located)
	r.isLocated, r.isSummed = true, false
	return true
}

// locateWhole is locate for who needs no compressed lists where all have images.
func (r *placedRun) locateWhole() bool {
	if r.pos > 0 || !r.hasView() || !r.view.HasImages(&r.plan.stages[r.stage].gpu) {
		return r.locate()
	}
	o := &r.outlook
	o.located = pipeline.Located{Forms: o.located.Forms[:0], Compressed: o.located.Compressed[:0], ImageRoom: true, Path: pipeline.PathImages}
	o.isLocated, o.isSummed = true, false
	return true
}

// withImages predicts the whole stage on a GPU that has images of all lists.
func (r *placedRun) withImages() time.Duration {
	if r.byImages == 0 {
		r.byImages = max(r.d.costs.Predict(r.kind(sched.GPU), &r.whole), 1)
	}
	return r.byImages
}

// manyPostings is from how many on it is worth to know how many are essential.
const manyPostings = 4096

// expect estimates how many candidates there will be after each list, from those that
// there are after the lists so far.
func (r *placedRun) expect() {
	o := &r.outlook
	numDocs := max(float64(r.plan.searcher.snapshot.NumDocs), 1)
	o.expected, o.isSummed = o.expected[:0], false
	left := 0.0
	for i, n := range o.lengths {
		switch {
		case i+1 < r.pos:
		case i+1 == r.pos:
			left = float64(r.have.Len())
		case i == 0:
			left = float64(n)
		default:
			left = min(left*min(float64(n)/numDocs*r.d.expect.factor(i), 1), left)
		}
		o.expected = append(o.expected, left)
	}
}

// selectivity corrects the estimate that terms occur independently of each other, by
// how many lists were intersected before: the words of a query go together. It is
// safe for concurrent use.
type selectivity struct {
	logs    [maxSelectivity]atomic.Uint64 // bits of a logarithm, less the one at first
	factors [maxSelectivity]atomic.Uint64 // bits of e to the power of that logarithm; 0: as at first
}

// firstSelectivity are the logarithms of the corrections at first, for the second list
// and on: means over those of the 2,000 queries of the TREC Terabyte logs on the Wikipedia passages
// for which more than one document was expected (760, 207, 68, 29 and 9 of them).
var firstSelectivity = [maxSelectivity]float64{0.75, 0.7, 0.3, 0.17, 0.12}

const (
	maxSelectivity = 5
	// selectivityDecay is the weight of an observation, maxSelectivityLog the most that
	// many of them come to.
	selectivityDecay  = 1.0 / 16
	maxSelectivityLog = 3
)

func (s *selectivity) log(i int) float64 {
	at := min(i, maxSelectivity) - 1
	return math.Float64frombits(s.logs[at].Load()) + firstSelectivity[at]
}

// factor is by how much more documents there are than there would be, in list i of
// those that are in the lists before.
func (s *selectivity) factor(i int) float64 {
	at := min(i, maxSelectivity) - 1
	if bits := s.factors[at].Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return firstFactors[at]
}

// firstFactors are e to the power of firstSelectivity.
var firstFactors = func() (f [maxSelectivity]float64) {
	for i, l := range firstSelectivity {
		f[i] = math.Exp(l)
	}
	return f
}()

// observe tells how many documents were found in the lists numbered [from, to) of those
// in the lists before, and how many were expected.
func (s *selectivity) observe(from, to int, expected float64, found int) {
	from = max(from, 1)
	if from >= to || expected <= 0 {
		return
	}
	step := math.Log(max(float64(found), 0.5)/max(expected, 0.5)) / float64(to-from)
	step = min(max(step, -1), 1) * selectivityDecay
	for i := from; i < to; i++ {
		l := min(max(s.log(i)+step, 0), maxSelectivityLog)
		at := min(i, maxSelectivity) - 1
		s.logs[at].Store(math.Float64bits(l - firstSelectivity[at]))
		s.factors[at].Store(math.Float64bits(math.Exp(l)))
	}
}

// blocksTouched is the expected number of blocks of a list of so many postings in which
// one of n documents falls, if they are spread evenly.
func blocksTouched(n float64, length int64) float64 {
	blocks := float64((length + codec.BlockLen - 1) / codec.BlockLen)
	if blocks == 0 {
		return 0
	}
	return blocks * (1 - math.Exp(-n/blocks))
}

// reading is what the lists up to one have in all, if a GPU reads them where they lie.
type reading struct {
	postings    int64
	blocks, bus float64
	file        int64 // bytes to be copied to page-locked memory before
}

// sum fills upTo: the first list is read all, of each other the blocks that candidates
// are expected in, over the bus if they are not on the GPU.
func (r *placedRun) sum() {
	o := &r.outlook
	if o.isSummed {
		return
	}
	o.isSummed = true
	at := reading{}
	o.upTo = append(o.upTo[:0], at)
	for i, n := range o.lengths {
		if i >= r.pos {
			all := float64((n + codec.BlockLen - 1) / codec.BlockLen)
			touched := all
			if i > 0 {
				touched = blocksTouched(o.expected[i-1], n)
			}
			host, file := r.away(i)
			at.postings += n
			at.blocks += touched
			at.bus += float64(host) * touched / max(all, 1)
			at.file += file
		}
		o.upTo = append(o.upTo, at)
	}
}

// directFeatures describe the lists [from, to) on a GPU, read where they lie, after those
// that are done: the first are candidates, or the first list; the blocks of the others that
// they fall in are read, over the bus if they are not on the GPU. bytesFile of them have to
// be copied to page-locked memory before. It needs what expect and Locate find.
func (r *placedRun) directFeatures(from, to int) (f cost.Features, bytesFile int64) {
	r.sum()
	o := &r.outlook
	a, b := &o.upTo[from], &o.upTo[to]
	f = cost.Features{Lists: to - from, K: r.plan.k, Batch: 1, Sum: b.postings - a.postings, Longest: o.lengths[to-1]}
	bus := b.bus - a.bus
	if from == 0 {
		f.Shortest = o.lengths[0]
		if to > 1 {
			f.Second = o.lengths[1]
		}
		f.Lists--
	} else {
		f.Candidates = int64(o.expected[from-1])
		bus += 8 * o.expected[from-1]
	}
	f.Blocks, f.BytesBus = int64(b.blocks-a.blocks), int64(bus)
	return f, b.file - a.file
}

// away is how many bytes a compressed list has that are not on the GPU, in all segments,
// and how many of them lie in files only.
func (r *placedRun) away(list int) (host, file int64) {
	o := &r.outlook
	legs := r.plan.stages[r.stage].gpu.Legs
	for i := list; i < len(o.located.Compressed); i += len(o.lengths) {
		if o.located.Compressed[i] >= pipeline.FormDevice || legs[i].List == nil {
			continue
		}
		n := int64(legs[i].List.Length)
		host += n
		if o.located.Compressed[i] == pipeline.FormFile {
			file += n
		}
	}
	return host, file
}

// hasImages reports whether a list has its image in all segments.
func (r *placedRun) hasImages(list int) bool {
	o := &r.outlook
	for i := list; i < len(o.located.Forms); i += len(o.lengths) {
		if o.located.Forms[i] < pipeline.FormImage {
			return false
		}
	}
	return true
}
