package experiments

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// Answers queries on the GPU as ding09 does, stage by stage with separate
// kernels, for Tables 2 and 3.

// A stage of ding09's Table 3.
type stageName int

const (
	stageInitialization stageName = iota // of the accumulators
	stageDecompression
	stageIntersection
	stageScoring
	stageTopK
	numStages
)

// In device memory, in the index format.
type stagedList struct {
	source decode.Source
	freqs  scoring.Freqs
	idf    float64
}

type stagedLeg struct {
	*stagedList
	term score.Term
}

// stagedEngine answers queries stage by stage with separate kernels, as ding09
// does, on a collection of one segment whose codec is simdbp.
type stagedEngine struct {
	deviceMemory
	collection *lab.Collection
	decoders   *decode.Kernels
	codec      decode.Codec
	x          *intersect.Intersector
	scorers    *scoring.Kernels
	selector   *selection.Selector
	lengths    cuda.Buffer[uint32]
	lists      map[string]*stagedList

	// For the largest query.
	first      cuda.Buffer[uint32]   // the shortest list
	others     []cuda.Buffer[uint32] // for an OR: each list
	chain      *intersect.Chain
	candidates intersect.Candidates
	onDevice   cuda.Buffer[scoring.List]
	sums       cuda.Buffer[uint32]
	scratch    *selection.Scratch
	keys       cuda.Buffer[selection.Key]
	back       []selection.Key

	events []*cuda.Event
	marks  []stageName // the stage that ends at each event, except the first
}

const stagedK = 10

func newStagedEngine(d *lab.Device, c *lab.Collection, queries []lab.Query) (*stagedEngine, error) {
	e := &stagedEngine{deviceMemory: deviceMemory{device: d}, collection: c, lists: map[string]*stagedList{}}
	if err := e.load(queries); err != nil {
		return nil, errors.Join(err, e.free())
	}
	return e, nil
}

func (e *stagedEngine) load(queries []lab.Query) (err error) {
	d := e.device.Device
	e.decoders = decode.New(d)
	e.frees = append(e.frees, e.decoders.Close)
	e.codec, _ = decode.CodecOf(codec.SIMDBP{})
	if e.x, err = intersect.New(d); err != nil {
		return err
	}
	e.frees = append(e.frees, e.x.Close)
	if e.scorers, err = scoring.New(d); err != nil {
		return err
	}
	e.frees = append(e.frees, e.scorers.Close)
	if e.selector, err = selection.New(d); err != nil {
		return err
	}
	e.frees = append(e.frees, e.selector.Close)
	if e.lengths, err = upload(&e.deviceMemory, e.collection.Snapshot.Segments[0].Lengths(0)); err != nil {
		return err
	}
	shortest, longest, terms := 1, 1, 1
	for _, q := range queries {
		short := 0
		for i, t := range q.Terms {
			l, err := e.list(t)
			if err != nil {
				return fmt.Errorf("term %q: %w", t, err)
			}
			n := l.source.NumPostings
			longest = max(longest, n)
			if i == 0 || n < short {
				short = n
			}
		}
		shortest, terms = max(shortest, short), max(terms, len(q.Terms))
	}
	return e.makeRoom(terms, shortest, longest)
}

func (e *stagedEngine) makeRoom(terms, shortest, longest int) (err error) {
	d := e.device.Device
	padded := func(n int) int { return (n + codec.BlockLen - 1) / codec.BlockLen * codec.BlockLen }
	if e.first, err = room[uint32](&e.deviceMemory, padded(shortest)); err != nil {
		return err
	}
	for range terms {
		b, err := room[uint32](&e.deviceMemory, padded(longest))
		if err != nil {
			return err
		}
		e.others = append(e.others, b)
	}
	if e.chain, err = intersect.NewChain(d, max(terms, 2), shortest, longest, 7); err != nil {
		return err
	}
	e.frees = append(e.frees, func() error { e.chain.Free(); return nil })
	if e.candidates, err = intersect.NewCandidates(d, max(terms, 2), shortest); err != nil {
		return err
	}
	e.frees = append(e.frees, func() error { e.candidates.Free(); return nil })
	if e.onDevice, err = room[scoring.List](&e.deviceMemory, terms); err != nil {
		return err
	}
	if e.sums, err = room[uint32](&e.deviceMemory, padded(max(e.collection.NumDocs(), shortest))); err != nil {
		return err
	}
	if e.keys, err = room[selection.Key](&e.deviceMemory, stagedK); err != nil {
		return err
	}
	e.back = make([]selection.Key, stagedK)
	if e.scratch, err = e.selector.NewScratch(e.sums.Len(), stagedK, selection.Heap); err != nil {
		return err
	}
	e.frees = append(e.frees, e.scratch.Free)
	return nil
}

// list copies a list once.
func (e *stagedEngine) list(term string) (*stagedList, error) {
	if l, ok := e.lists[term]; ok {
		return l, nil
	}
	var p postings.List
	if found, err := e.collection.Find(term, &p); err != nil || !found {
		return nil, errors.Join(err, base.ErrBadInput)
	}
	payload, entries := p.Raw()
	words := make([]uint32, (len(payload)+3)/4)
	padded := append(slices.Clone(payload), 0, 0, 0)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(padded[4*i:])
	}
	directory := make([]uint32, 0, 4*len(entries))
	for i := range entries {
		b := &entries[i]
		directory = append(directory, b.First, b.Last, b.Offset, uint32(b.Bound)|uint32(b.DocWidth)<<16|uint32(b.FreqWidth)<<24)
	}
	l := &stagedList{source: decode.Source{NumPostings: int(p.DocFreq)}}
	var err error
	if l.source.Payload, err = upload(&e.deviceMemory, words); err != nil {
		return nil, err
	}
	if l.source.Directory, err = upload(&e.deviceMemory, directory); err != nil {
		return nil, err
	}
	if l.freqs, err = scoring.PackedFreqs(l.source.Payload, l.source.Directory, l.source.NumPostings); err != nil {
		return nil, err
	}
	l.idf = score.IDF(e.collection.Snapshot.Fields[0].NumDocs, uint64(p.DocFreq))
	e.lists[term] = l
	return l, nil
}

// mark records the end of a stage on the stream.
func (e *stagedEngine) mark(s stageName) error {
	e.marks = append(e.marks, s)
	if len(e.marks) > len(e.events) {
		event, err := e.device.NewEvent(true /* timing */)
		if err != nil {
			return err
		}
		e.frees = append(e.frees, event.Close)
		e.events = append(e.events, event)
	}
	return e.device.Stream.Record(e.events[len(e.marks)-1])
}

// Device time of each stage of a completed query.
func (e *stagedEngine) stages() (times [numStages]time.Duration, err error) {
	for i := 1; i < len(e.marks); i++ {
		took, err := e.events[i].Elapsed(e.events[i-1])
		if err != nil {
			return times, err
		}
		times[e.marks[i]] += took
	}
	return times, nil
}

func (e *stagedEngine) decodeAll(l *stagedList, out cuda.Buffer[uint32]) error {
	list, err := decode.NewList(l.source, cuda.Buffer[uint32]{}, out)
	if err != nil {
		return err
	}
	return e.decoders.DecodeList(e.device.Stream, e.codec, decode.DocIDs, list)
}

// ofQuery returns the lists, the shortest first. A word that occurs twice
// counts twice.
func (e *stagedEngine) ofQuery(q lab.Query) []stagedLeg {
	counts := e.collection.Counts(q.Text)
	var legs []stagedLeg
	for _, t := range q.Terms {
		l := e.lists[t]
		legs = append(legs, stagedLeg{l, e.collection.Searcher.BM25().NewTerm(l.idf*float64(counts[t]), 1, e.collection.Snapshot.Fields[0].AvgLen())})
	}
	slices.SortStableFunc(legs, func(a, b stagedLeg) int { return a.source.NumPostings - b.source.NumPostings })
	return legs
}

// and is ding09 §8.1, §8.2: decode the shortest list, and of the others the
// blocks that can contain candidates; score the candidates, and select the best
// 10 with the heap.
func (e *stagedEngine) and(q lab.Query) error {
	lists := e.ofQuery(q)
	e.marks = e.marks[:0]
	if err := e.mark(stageInitialization); err != nil {
		return err
	}
	n := lists[0].source.NumPostings
	if err := e.decodeAll(lists[0].stagedList, e.first); err != nil {
		return err
	}
	if err := e.mark(stageDecompression); err != nil {
		return err
	}
	operands := []intersect.Operand{{List: intersect.List{DocIDs: e.first.Slice(0, n)}}}
	for _, l := range lists[1:] {
		operands = append(operands, intersect.Operand{Blocks: e.blocks(l.stagedList)})
	}
	found := scoring.Candidates{DocIDs: e.first.Slice(0, n)}
	if len(lists) > 1 {
		if err := e.x.All(e.device.Stream, e.chain, operands, e.candidates); err != nil {
			return err
		}
		found = scoring.Candidates{DocIDs: e.candidates.DocIDs, Count: e.candidates.Count}
		if err := e.mark(stageIntersection); err != nil {
			return err
		}
	}
	var sources []scoring.List
	for i, l := range lists {
		s := scoring.Source{Term: l.term, Freqs: l.freqs, Lengths: e.lengths}
		if len(lists) > 1 {
			s.Postings = e.candidates.Row(i)
		}
		list, err := scoring.NewList(s)
		if err != nil {
			return err
		}
		sources = append(sources, list)
	}
	onDevice := e.onDevice.Slice(0, len(sources))
	if err := cuda.CopyToDevice(e.device.Stream, onDevice, sources); err != nil {
		return err
	}
	if err := scoring.Score(e.scorers, e.device.Stream, onDevice, found, e.sums); err != nil {
		return err
	}
	if err := e.mark(stageScoring); err != nil {
		return err
	}
	return e.best(selection.Source[uint32]{Scores: e.sums.Slice(0, found.DocIDs.Len()), DocIDs: found.DocIDs, Count: found.Count})
}

// Decoding the selected blocks is a stage.
func (e *stagedEngine) blocks(l *stagedList) *intersect.Blocks {
	return &intersect.Blocks{
		Firsts: l.source.Directory, Stride: decode.EntryWords, Len: l.source.NumPostings, BlockShift: 7,
		Decode: func(s *cuda.Stream, sel intersect.Selection, dst cuda.Buffer[uint32]) error {
			if err := e.mark(stageIntersection); err != nil {
				return err
			}
			// dst has room for all blocks that can be selected, sel for the
			// longest list's.
			numbers := sel.Numbers.Slice(0, min(sel.Numbers.Len(), dst.Len()/codec.BlockLen))
			list, err := decode.NewList(l.source, numbers, dst)
			if err != nil {
				return err
			}
			if err := e.decoders.DecodeList(s, e.codec, decode.DocIDs, list.Counted(sel.Count)); err != nil {
				return err
			}
			return e.mark(stageDecompression)
		},
	}
}

// or is ding09 §8.3: an accumulator for every document, to which all postings
// are added list by list.
func (e *stagedEngine) or(q lab.Query) error {
	e.marks = e.marks[:0]
	if err := e.mark(stageInitialization); err != nil {
		return err
	}
	if err := scoring.Clear(e.scorers, e.device.Stream, e.sums, scoring.Unless{}); err != nil {
		return err
	}
	if err := e.mark(stageInitialization); err != nil {
		return err
	}
	lists := e.ofQuery(q)
	for i, l := range lists {
		if err := e.decodeAll(l.stagedList, e.others[i]); err != nil {
			return err
		}
	}
	if err := e.mark(stageDecompression); err != nil {
		return err
	}
	for i, l := range lists {
		list, err := scoring.NewList(scoring.Source{
			Term: l.term, Freqs: l.freqs, DocIDs: e.others[i].Slice(0, l.source.NumPostings), Lengths: e.lengths,
		})
		if err != nil {
			return err
		}
		if err := scoring.Accumulate(e.scorers, e.device.Stream, &list, e.sums, scoring.Unless{}); err != nil {
			return err
		}
	}
	if err := e.mark(stageScoring); err != nil {
		return err
	}
	return e.best(selection.Source[uint32]{Scores: e.sums.Slice(0, e.collection.NumDocs()), LeastScore: 1})
}

// best selects with the heap, and waits.
func (e *stagedEngine) best(s selection.Source[uint32]) error {
	if err := e.selector.Select(e.device.Stream, selection.Heap, s, stagedK, e.keys, e.scratch); err != nil {
		return err
	}
	if err := e.mark(stageTopK); err != nil {
		return err
	}
	if err := cuda.CopyToHost(e.device.Stream, e.back, e.keys); err != nil {
		return err
	}
	return e.device.Stream.Synchronize()
}

type stagedTimes struct {
	wall   []time.Duration // until the host has the hits
	hits   [][]base.Hit
	stages [numStages]time.Duration
}

// Mean wall time of a query.
func (t *stagedTimes) milliseconds() float64 {
	sum := time.Duration(0)
	for _, w := range t.wall {
		sum += w
	}
	return sum.Seconds() * 1000 / float64(max(1, len(t.wall)))
}

// Share of the device time, in percent.
func (t *stagedTimes) share(stages ...stageName) float64 {
	sum, of := time.Duration(0), time.Duration(0)
	for s, took := range t.stages {
		sum += took
		if slices.Contains(stages, stageName(s)) {
			of += took
		}
	}
	return 100 * float64(of) / float64(max(sum, 1))
}

// Each time is the minimum of several runs.
func (e *stagedEngine) run(ctx context.Context, env *lab.Env, queries []lab.Query, runs int, do func(lab.Query) error) (*stagedTimes, error) {
	t := &stagedTimes{}
	for i, q := range queries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if i%64 == 0 {
			env.Progress("stages", i, len(queries))
		}
		var best time.Duration
		for run := range runs + 1 { // the first is a warm-up
			start := time.Now()
			if err := do(q); err != nil {
				return nil, fmt.Errorf("query %s: %w", q.ID, err)
			}
			if took := time.Since(start); run == 1 || run > 1 && took < best {
				best = took
			}
		}
		stages, err := e.stages()
		if err != nil {
			return nil, err
		}
		for s, took := range stages {
			t.stages[s] += took
		}
		t.wall = append(t.wall, best)
		t.hits = append(t.hits, selection.AppendHits(nil, e.back))
	}
	return t, nil
}
