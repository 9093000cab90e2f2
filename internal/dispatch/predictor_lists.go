package dispatch

import (
	"math"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
)

// This file predicts the lists of a conjunction, one by one.

func (p *predictor) expectCandidates() {
	numDocs := max(float64(p.query.Snapshot().NumDocs), 1)
	p.expected, p.hasCumulative = p.expected[:0], false
	left := 0.0
	for i, n := range p.lengths {
		switch {
		case i+1 < p.done:
		case i+1 == p.done:
			left = float64(p.candidates)
		case i == 0:
			left = float64(n)
		default:
			left = min(left*min(float64(n)/numDocs*p.model.selectivity.factor(i), 1), left)
		}
		p.expected = append(p.expected, left)
	}
}

// listFeatures is for the CPU.
func (p *predictor) listFeatures(i int) (cost.Kind, cost.Features) {
	if i == 0 {
		return cost.CPUBegin, cost.Features{Shortest: p.lengths[0]}
	}
	return cost.CPUIntersect, cost.Features{Candidates: int64(p.expected[i-1]), Longest: p.lengths[i]}
}

func (p *predictor) cpuListTime(i int) time.Duration {
	k, f := p.listFeatures(i)
	return p.model.costs.Predict(k, &f)
}

func (p *predictor) selection() time.Duration {
	f := cost.Features{Candidates: int64(p.expected[len(p.lengths)-1]), K: p.query.K()}
	return p.model.costs.Predict(cost.CPUSelect, &f)
}

// addCPULists adds to s the lists [from, to) on the CPU, and after the last list the selection
// of the best.
func (p *predictor) addCPULists(s *Step, from, to int) {
	for i := from; i < to; i++ {
		k, f := p.listFeatures(i)
		s.add(k, &f, p.model.costs.Predict(k, &f))
	}
	if n := len(p.lengths); to == n && to > 0 {
		f := cost.Features{Candidates: int64(p.expected[n-1]), K: p.query.K()}
		s.add(cost.CPUSelect, &f, p.selection())
	}
}

// addGPULists adds to s the lists [from, to) on the GPU, where they are.
func (p *predictor) addGPULists(s *Step, from, to int) {
	f, file := p.packedFeatures(from, to)
	p.addFileCopies(s, file)
	k := cost.GPUIntersect
	if from == 0 && to == len(p.lengths) {
		k = cost.GPUPackedAnd
		f.Lists++
	}
	s.add(k, &f, p.model.costs.Predict(k, &f))
}

// packedFeatures describes the lists [from, to) on a GPU that reads them where they are, with
// the candidates or the first list as input. bytesFile must be copied to page-locked memory
// before. It needs expectCandidates and locate.
func (p *predictor) packedFeatures(from, to int) (f cost.Features, bytesFile int64) {
	p.sum()
	a, b := &p.cumulative[from], &p.cumulative[to]
	f = cost.Features{Lists: to - from, K: p.query.K(), Batch: 1, Sum: b.postings - a.postings, Longest: p.lengths[to-1]}
	bus := b.bus - a.bus
	if from == 0 {
		f.Shortest = p.lengths[0]
		if to > 1 {
			f.Second = p.lengths[1]
		}
		f.Lists--
	} else {
		f.Candidates = int64(p.expected[from-1])
		bus += 8 * p.expected[from-1]
	}
	f.Blocks, f.BytesBus = int64(b.blocks-a.blocks), int64(bus)
	return f, b.file - a.file
}

// reading sums the reads of a GPU from the lists before one.
type reading struct {
	postings    int64
	blocks, bus float64
	file        int64 // bytes to be copied to page-locked memory before
}

// sum fills cumulative: all of the first list, of the others the blocks with expected
// candidates, over the bus if not on the GPU.
func (p *predictor) sum() {
	if p.hasCumulative {
		return
	}
	p.hasCumulative = true
	at := reading{}
	p.cumulative = append(p.cumulative[:0], at)
	for i, n := range p.lengths {
		if i >= p.done {
			all := float64((n + codec.BlockLen - 1) / codec.BlockLen)
			touched := all
			if i > 0 {
				touched = blocksTouched(p.expected[i-1], n)
			}
			host, file := p.notOnGPU(i)
			at.postings += n
			at.blocks += touched
			at.bus += float64(host) * touched / max(all, 1)
			at.file += file
		}
		p.cumulative = append(p.cumulative, at)
	}
}

// notOnGPU returns a compressed list's bytes that are not on the GPU, over all segments, and
// the part that is in files only.
func (p *predictor) notOnGPU(list int) (host, file int64) {
	legs := p.query.gpu.stages[p.stage].Legs
	for i := list; i < len(p.located.Compressed); i += len(p.lengths) {
		if p.located.Compressed[i] >= pipeline.FormDevice || legs[i].List == nil {
			continue
		}
		n := int64(legs[i].List.Length)
		host += n
		if p.located.Compressed[i] == pipeline.FormFile {
			file += n
		}
	}
	return host, file
}

// blocksTouched returns the expected number of blocks of a list of that length that have one of
// n evenly spread documents.
func blocksTouched(n float64, length int64) float64 {
	blocks := float64((length + codec.BlockLen - 1) / codec.BlockLen)
	if blocks == 0 {
		return 0
	}
	return blocks * (1 - math.Exp(-n/blocks))
}
