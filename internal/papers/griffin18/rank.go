package griffin18

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/plan"
)

// rankFound scores candidates on the device that are in all lists, and queues the best. After an error
// it has queued nothing.
func (r *run) rankFound(ctx context.Context, f found) error {
	if f.len() == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.scoreOnGPU(f); err != nil {
		return err
	}
	k := r.queue.K()
	if r.engine.options.ranking == rankCPU || k == 0 || k > selection.MaxK {
		return r.sortOnCPU(f)
	}
	return r.selectOnGPU(f, k)
}

// scoreOnGPU brings the frequencies of the lists, and sums up the contributions of each candidate.
func (r *run) scoreOnGPU(f found) error {
	m := r.memory
	var parts [][]uint32
	for i, l := range r.lists {
		directory, words := freqsOf(l, m.selected[i])
		parts = append(parts, directory, words, m.selected[i])
	}
	copies, err := m.copyTo(&m.scores.freqs, parts...)
	if err != nil {
		return err
	}
	s := &m.scores
	err = errors.Join(
		cuda.Grow(m.device.cuda, &s.lists, len(r.legs), cuda.AllocHost[scoring.List]),
		cuda.Grow(m.device.cuda, &s.onDevice, len(r.legs), cuda.Alloc[scoring.List]))
	if err != nil {
		return err
	}
	on := s.lists.Data()[:len(r.legs)]
	for i := range on {
		if on[i], err = r.scored(i, [3]cuda.Buffer[uint32](copies[3*i:]), f); err != nil {
			return err
		}
	}
	if err := cuda.CopyToDevice(m.stream, s.onDevice, on); err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepTransfer}); err != nil {
		return err
	}
	found := scoring.Candidates{DocIDs: f.docIDs}
	if err := scoring.Score(m.device.scorers, m.stream, s.onDevice.Slice(0, len(on)), found, s.sums.Slice(0, f.len())); err != nil {
		return err
	}
	return r.stepOnGPU(plan.Step{Name: stepScore, Work: plan.Work{PostingsScored: int64(f.len() * len(on))}})
}

// scored is list i for the kernel, with the directory and the words of its frequencies, and the numbers of
// its blocks if the device has only some.
func (r *run) scored(i int, freqs [3]cuda.Buffer[uint32], f found) (scoring.List, error) {
	m, leg := r.memory, r.legs[i]
	s := scoring.Source{Term: leg.Term}
	var err error
	if s.Freqs, err = scoring.PackedFreqs(freqs[1], freqs[0], freqs[0].Len()/lists.EntryWords*codec.BlockLen); err != nil {
		return scoring.List{}, err
	}
	if !f.rows.IsZero() {
		s.Postings = f.row(i)
	}
	if freqs[2].Len() > 0 {
		if err := m.device.kernels.compactPositions(m.stream, s.Postings, freqs[2]); err != nil {
			return scoring.List{}, err
		}
	}
	if !leg.Term.Linear {
		l, copied, err := m.device.lengthsOf(m.stream, r.view.Segment, leg.Field, leg.Lengths)
		if err != nil {
			return scoring.List{}, err
		}
		m.lengths = append(m.lengths, l)
		s.Lengths = l.words
		m.copied += copied
	}
	return scoring.NewList(s)
}

// sortOnCPU copies all scores to the host: the partial sort of §3.1.3.
func (r *run) sortOnCPU(f found) error {
	copies, err := r.memory.copyFrom(f.docIDs, r.memory.scores.sums.Slice(0, f.len()))
	if err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepTransfer, BusBytes: 8 * int64(f.len())}); err != nil {
		return err
	}
	for i, d := range copies[0] {
		r.add(d, base.Score(copies[1][i]))
	}
	r.step(plan.Step{Name: stepRank, Processor: plan.CPUName})
	return nil
}

// selectOnGPU selects the best k on the device, by bucketSelect or radixSort.
func (r *run) selectOnGPU(f found, k int) error {
	m := r.memory
	method := selection.Bucket
	if r.engine.options.ranking == rankRadix {
		method = selection.Radix
	}
	g := &m.ranking
	err := errors.Join(
		g.hold(m.device.selector, f.len(), k, method),
		cuda.Grow(m.device.cuda, &g.best, k, cuda.Alloc[selection.Key]),
		cuda.Grow(m.device.cuda, &g.keys, k, cuda.AllocHost[selection.Key]))
	if err != nil {
		return err
	}
	source := selection.Source[uint32]{Scores: m.scores.sums.Slice(0, f.len()), DocIDs: f.docIDs, Base: r.view.Base}
	matches := f.len()
	if r.view.Live != nil {
		if source.Live, err = r.bringLive(); err != nil {
			return err
		}
		if matches, err = r.countLive(source); err != nil {
			return err
		}
	}
	best := g.best.Slice(0, k)
	if err := m.device.selector.Select(m.stream, method, source, k, best, g.scratch); err != nil {
		return err
	}
	keys := g.keys.Data()[:k]
	if err := errors.Join(cuda.CopyToHost(m.stream, keys, best), m.wait()); err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepRank, BusBytes: best.SizeBytes()}); err != nil {
		return err
	}
	for _, h := range selection.AppendHits(nil, keys) {
		r.queue.Add(h)
	}
	r.matched(matches)
	return nil
}

// bringLive copies the bits of documents that are not deleted.
func (r *run) bringLive() (cuda.Buffer[uint32], error) {
	var bits []uint32
	for _, w := range r.view.Live.Words() {
		bits = append(bits, uint32(w), uint32(w>>32))
	}
	copies, err := r.memory.copyTo(&r.memory.ranking.live, bits)
	if err != nil {
		return cuda.Buffer[uint32]{}, err
	}
	return copies[0], nil
}

// countLive counts the candidates that are not deleted, if the number of matches is requested.
func (r *run) countLive(source selection.Source[uint32]) (int, error) {
	m := r.memory
	if !r.query.Plan.Counts() {
		return 0, nil
	}
	if err := cuda.Fill(m.stream, m.count, 0); err != nil {
		return 0, err
	}
	if err := m.device.selector.Count(m.stream, source, m.count); err != nil {
		return 0, err
	}
	return m.number(m.count)
}
