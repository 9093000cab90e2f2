package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs"
)

type list struct {
	base          uint32 // the previous DocID, or codec.NoBase
	docIDs, freqs []uint32
}

// Lists measured together.
type set struct {
	data  string // "uniform" or "lists"
	width int    // for "uniform"
	lists []list
}

const blocksOf = 16

// The DocIDs of a synthetic list stay below 2^32.
const widest = 20

// Gaps and frequencies, less one, are uniform below 2^width. Each block has a
// value of width bits.
func synthetic(width int) set {
	rng := rand.New(rand.NewPCG(uint64(width), 1))
	s := set{data: "uniform", width: width}
	for range 2 {
		l := list{base: codec.NoBase}
		next := uint32(0)
		for i := range blocksOf * codec.BlockLen {
			v := rng.Uint32N(1 << width)
			if i%codec.BlockLen == 77 && width > 0 {
				v |= 1 << (width - 1)
			}
			l.docIDs = append(l.docIDs, next+v)
			l.freqs = append(l.freqs, v+1)
			next += v + 1
		}
		s.lists = append(s.lists, l)
	}
	return s
}

type lists struct{ snapshot *index.Snapshot }

func openLists(dir string) (*lists, error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return nil, err
	}
	snapshot, err := ix.Snapshot()
	if err := errors.Join(err, ix.Close()); err != nil { // a snapshot outlives its index
		return nil, err
	}
	return &lists{snapshot: snapshot}, nil
}

func (l *lists) close() { l.snapshot.Release() }

func (l *lists) each(visit func(p *postings.List) error) error {
	for _, view := range l.snapshot.Segments {
		for it := view.Terms(0, nil); ; {
			if !it.Next() {
				if err := it.Err(); err != nil {
					return err
				}
				break
			}
			var p postings.List
			if _, err := view.Find(0, it.Term(), &p); err != nil {
				return err
			}
			if err := visit(&p); err != nil {
				return fmt.Errorf("term %q: %w", it.Term(), err)
			}
		}
	}
	return nil
}

func (l *list) decode(p *postings.List, from, to int) error {
	var docIDs, freqs [codec.BlockLen]uint32
	for i := from; i < to; i++ {
		size, err := p.DecodeDocIDs(i, &docIDs)
		if err == nil {
			err = p.DecodeFreqs(i, size, &freqs)
		}
		if err != nil {
			return err
		}
		n := p.BlockSize(i)
		l.docIDs, l.freqs = append(l.docIDs, docIDs[:n]...), append(l.freqs, freqs[:n]...)
	}
	return nil
}

const stretches = 32

// Stretches of blocksOf full blocks, evenly spaced over the postings of
// sufficiently long lists.
func (l *lists) sample() (set, error) {
	total := 0
	full := func(p *postings.List) int { return int(p.DocFreq) / codec.BlockLen / blocksOf } // stretches of p
	if err := l.each(func(p *postings.List) error {
		total += full(p)
		return nil
	}); err != nil {
		return set{}, err
	}
	s := set{data: "lists"}
	seen := 0
	err := l.each(func(p *postings.List) error {
		for i := range full(p) {
			// Skip stretches between sampling points.
			if seen++; seen*stretches/total == (seen-1)*stretches/total {
				continue
			}
			part := list{base: codec.NoBase}
			if i > 0 {
				part.base = p.Block(i*blocksOf - 1).Last
			}
			if err := part.decode(p, i*blocksOf, (i+1)*blocksOf); err != nil {
				return err
			}
			s.lists = append(s.lists, part)
		}
		return nil
	})
	if err == nil && len(s.lists) == 0 {
		err = fmt.Errorf("the index has no list of %d postings", blocksOf*codec.BlockLen)
	}
	return s, err
}
