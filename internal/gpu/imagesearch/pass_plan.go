package imagesearch

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/invariant"
)

// bandPlan is a band: units [from, to).
type bandPlan struct{ from, to int }

// planners is the maximum number of goroutines that describe bands.
const planners = 4

// bandPlanner divides the segment of a pass into bands and describes them, ahead of the device, in steps that its caller
// returns.
type bandPlanner struct {
	p     *Pass
	bands []bandPlan
	next  atomic.Int64
	quit  chan struct{}
	group invariant.Group
	dead  chan struct{} // a goroutine panicked
	took  atomic.Int64
}

// startPlanner returns a planner of bands whose images fit into size bytes. The caller stops it. The error is ErrBand.
func (p *Pass) startPlanner(size int64) (*bandPlanner, error) {
	b := &bandPlanner{p: p, quit: make(chan struct{}), dead: make(chan struct{}, planners)}
	began := time.Now()
	if err := b.divide(size); err != nil {
		return nil, err
	}
	b.took.Add(int64(time.Since(began)))
	for i := range p.memory.ahead {
		s := &p.memory.ahead[i]
		s.free, s.ready = make(chan struct{}, 1), make(chan struct{}, 1)
		s.free <- struct{}{}
	}
	for range min(planners, runtime.GOMAXPROCS(0), len(b.bands)) {
		b.group.Go(b.work)
	}
	return b, nil
}

// stop ends the goroutines.
func (b *bandPlanner) stop() {
	close(b.quit)
	b.group.Wait()
}

func (b *bandPlanner) work() {
	ended := false
	defer func() {
		if !ended {
			b.dead <- struct{}{}
		}
	}()
	for n := int(b.next.Add(1)) - 1; n < len(b.bands); n = int(b.next.Add(1)) - 1 {
		s := &b.p.memory.ahead[n%passAhead]
		select {
		case <-s.free:
		case <-b.quit:
			ended = true
			return
		}
		began := time.Now()
		s.describe(b.p, b.bands[n])
		b.took.Add(int64(time.Since(began)))
		s.ready <- struct{}{}
	}
	ended = true
}

// step returns the description of a band. Bands are asked for in order.
func (b *bandPlanner) step(band int) (s *passStep, ok bool) {
	s = &b.p.memory.ahead[band%passAhead]
	select {
	case <-s.ready:
		return s, true
	case <-b.dead:
		return nil, false // stop panics
	}
}

// divide chooses the widest bands whose images fit. It sums, for each unit, the bytes of the postings of all lists up to it, so
// that a band takes two of the sums.
func (b *bandPlanner) divide(size int64) error {
	p := b.p
	units := p.numUnits()
	sums := b.sum()
	perSuper, fixed := int64(0), int64(0)
	for i := range p.lists {
		s, f := p.lists[i].bandParts()
		perSuper += s
		fixed += f
	}
	bytes := func(from, to int) int64 {
		_, numDocs := p.docs(from, to)
		return fixed + perSuper*int64(numSupers(int(numDocs))) + sums[to].until - sums[from].since
	}
	for from := 0; from < units; {
		to := from + 1
		for to < units && to-from < p.mostUnits() && bytes(from, to+1) <= size {
			to++
		}
		if most := bytes(from, to); most > size {
			return fmt.Errorf("%d bytes of %d: %w", most, size, ErrBand)
		}
		b.bands = append(b.bands, bandPlan{from, to})
		from = to
	}
	return nil
}

// unitSum has the bytes of the postings in the blocks before a unit, without one that it shares with the unit before, and with
// it.
type unitSum struct{ since, until int64 }

func (b *bandPlanner) sum() []unitSum {
	p := b.p
	units := p.numUnits()
	n := min(planners, runtime.GOMAXPROCS(0))
	parts := make([][]unitSum, n)
	var group invariant.Group
	for w := range n {
		group.Go(func() {
			sums := make([]unitSum, units+1)
			for i := w; i < len(p.lists); i += n {
				bytes := int64(p.lists[i].bytesPerPosting()) * blockLen
				for u, at := range p.cuts[i].at[:units+1] {
					since := int64(at>>1) * bytes
					sums[u].since += since
					sums[u].until += since + int64(at&1)*bytes
				}
			}
			parts[w] = sums
		})
	}
	group.Wait()
	for _, more := range parts[1:] {
		for u := range more {
			parts[0][u].since += more[u].since
			parts[0][u].until += more[u].until
		}
	}
	return parts[0]
}

func (p *Pass) unitDocs() int { return p.kernels.passes.unit * superDocs }

func (p *Pass) numUnits() int { return (p.segment.NumDocs + p.unitDocs() - 1) / p.unitDocs() }

// mostUnits is the maximum of a band.
func (p *Pass) mostUnits() int { return max(maxBandSupers/p.kernels.passes.unit, 1) }

// mostTiles is the maximum of the lists in a band.
func (p *Pass) mostTiles() (n int) {
	for i := range p.lists {
		if p.lists[i].kind == uint32(dense) {
			n += p.mostUnits()
		} else {
			n++
		}
	}
	return n
}

// docs returns the documents of units [from, to).
func (p *Pass) docs(from, to int) (first, n uint32) {
	first = uint32(from * p.unitDocs())
	return first, uint32(min(to*p.unitDocs(), p.segment.NumDocs)) - first
}

// describe writes the images and tiles of a band, with long lists first.
func (s *passStep) describe(p *Pass, b bandPlan) {
	images, tiles := s.images.Data()[:len(p.lists)], s.tiles.Data()
	unit := p.kernels.passes.unit
	_, numDocs := p.docs(b.from, b.to)
	supers := numSupers(int(numDocs))
	s.band, s.numTiles, s.shared, s.blocks = b, 0, 0, 0
	at := uint64(0)
	for order, i := range p.byFreq {
		cuts := p.cutsByFreq[order]
		first, n := cutBlocks(cuts, b.from, b.to)
		images[i] = bandImage{at: uint32(at), firstBlock: first, numBlocks: n}
		if n == 0 {
			continue
		}
		s.blocks += int64(n)
		l := &p.lists[i]
		at += uint64(l.bandLayout(numDocs, n))
		if l.kind != uint32(dense) {
			s.add(tiles, bandTile{uint32(i), first, n, uint32(supers) << 16})
			if l.kind == uint32(bounded) {
				s.shared = max(s.shared, supers*superRanges*rangeBytes)
			}
			continue
		}
		units := max(min(tileSupers/unit, (b.to-b.from)*tileBlocks/int(n)), 1)
		for from := b.from; from < b.to; from += units {
			to := min(from+units, b.to)
			first, n := cutBlocks(cuts, from, to)
			begin := (from - b.from) * unit
			here := min((to-b.from)*unit, supers) - begin
			s.add(tiles, bandTile{uint32(i), first, n, uint32(here)<<16 | uint32(begin)})
			s.shared = max(s.shared, here*superRanges*denseRangeBytes)
		}
	}
	s.bytes = int64(at) * layoutUnit
}

func (s *passStep) add(tiles []bandTile, t bandTile) {
	tiles[s.numTiles] = t
	s.numTiles++
}
