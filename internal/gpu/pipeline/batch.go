package pipeline

import (
	"errors"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// batchRun answers gathered queries in a segment together.
type batchRun struct {
	lane    *lane
	target  *target
	segment int
	queries []*Query
	results []Result
	traced  bool
	last    time.Time // the end of the part of a traced batch's time that was counted last
}

// all uses the fewest launches that the batch's limits allow, and repeats queries whose guessed thresholds were too high.
func (b *batchRun) all() error {
	b.last = b.lane.counts.began
	if err := b.lane.reserve(b.queries); err != nil {
		return err
	}
	g := &b.lane.guessing
	g.off, g.todo = false, g.todo[:0]
	for i := range b.queries {
		g.todo = append(g.todo, i)
	}
	for len(g.todo) > 0 {
		g.again = g.again[:0]
		if err := b.some(); err != nil {
			return err
		}
		g.todo, g.again, g.off = g.again, g.todo, true
	}
	return nil
}

// some answers the queries guessing.todo.
func (b *batchRun) some() error {
	g := &b.lane.guessing
	b.lane.batch.Reset(b.target.segment)
	g.numbers, g.guesses = g.numbers[:0], g.guesses[:0]
	for _, i := range g.todo {
		var query imagesearch.Query
		ok, err := b.lane.query(b.target, b.segment, i, b.queries[i], &b.results[i], &query)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		guess := b.guess(i, &query)
		query.Threshold = max(query.Threshold, guess.score)
		query.Count = query.Count && !g.off // the first run has counted
		_, err = b.lane.batch.Add(&query)
		if errors.Is(err, imagesearch.ErrFull) {
			if err := b.flush(); err != nil {
				return err
			}
			b.lane.batch.Reset(b.target.segment)
			_, err = b.lane.batch.Add(&query)
		}
		if err != nil { // the CPU answers this query
			b.results[i].Err = err
			continue
		}
		g.numbers, g.guesses = append(g.numbers, i), append(g.guesses, guess)
	}
	return b.flush()
}

func (b *batchRun) flush() error {
	if b.lane.batch.Len() == 0 {
		return nil
	}
	times := &b.lane.counts.times
	b.lap(&times.Preparing)
	if err := b.lane.batch.Launch(b.lane.stream); err != nil {
		return err
	}
	b.lane.d.launches.Add(1)
	b.lap(&times.Launching)
	if err := b.lane.batch.Wait(); err != nil {
		return err
	}
	b.lap(&times.Waiting)
	if b.traced {
		b.lane.batch.Launches(b.lane.count)
		b.lane.bytes(b.lane.batch.Bytes())
	}
	took, err := b.lane.batch.Elapsed()
	if err != nil {
		return err
	}
	b.lane.counts.took += took
	g := &b.lane.guessing
	for number, i := range g.numbers {
		q, r := b.queries[i], &b.results[i]
		if q.Count {
			r.Matches += int64(b.lane.batch.Count(number))
		}
		b.lane.merged = b.lane.batch.AppendHits(b.lane.merged[:0], number)
		if guess := &g.guesses[number]; guess.score > 0 && !b.confirm(i, guess) {
			g.again = append(g.again, i)
			continue
		}
		b.lane.merge(r, q.K)
	}
	g.numbers, g.guesses = g.numbers[:0], g.guesses[:0]
	b.lap(&times.Taking)
	return nil
}

// lap adds the time since the last call to a part of a traced batch.
func (b *batchRun) lap(part *time.Duration) {
	if !b.traced {
		return
	}
	now := time.Now()
	*part += now.Sub(b.last)
	b.last = now
}
