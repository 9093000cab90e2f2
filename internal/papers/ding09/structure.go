package ding09

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
)

// structure is the arrays of exceptions of the query's lists.
type structure struct {
	levels [][]decodeLevel // of each recursive list
	sides  []uint32
	arrays []decode.RecArray
}

type decodeLevel struct {
	from, to int // in structure.arrays
	batch    decode.Batch
}

// structure finds the arrays of exceptions and enqueues copying them to the device.
func (d *deviceQuery) structure() (*structure, error) {
	s := &structure{levels: make([][]decodeLevel, len(d.recursive))}
	if len(d.recursive) == 0 {
		return s, nil
	}
	g := d.gpu
	scratch := 0
	for _, it := range d.recursive {
		n, err := decode.RecScratch(it.list.Bytes(), it.list.NumPostings)
		if err != nil {
			return nil, err
		}
		scratch = max(scratch, n)
	}
	if err := cuda.Grow(g.device, &g.work.recursions, scratch, cuda.Alloc[uint32]); err != nil {
		return nil, err
	}
	for i, it := range d.recursive {
		arrays, err := it.recursion(g.work.recursions)
		if err != nil {
			return nil, err
		}
		s.sides = append(s.sides, arrays.List.Words()...)
		for _, level := range arrays.Levels {
			from := len(s.arrays)
			s.arrays = append(s.arrays, level...)
			s.levels[i] = append(s.levels[i], decodeLevel{from, len(s.arrays), decode.PlanArrays(s.arrays[from:])})
		}
	}
	return s, s.copy(g)
}

func (s *structure) copy(g *gpu) error {
	g.structureBytes.Add(4 * int64(len(s.sides)+decode.RecArrayWords*len(s.arrays)))
	return errors.Join(
		copyOver(g, &g.work.sides, &g.work.hostSides, s.sides),
		copyOver(g, &g.work.arrays, &g.work.hostArrays, s.arrays),
	)
}

// copyOver enqueues a copy to the device through page-locked memory, which the stream must not be using.
func copyOver[T any](g *gpu, to *cuda.Buffer[T], through *cuda.HostBuffer[T], values []T) error {
	if len(values) == 0 {
		return nil
	}
	if err := cuda.Grow(g.device, to, len(values), cuda.Alloc[T]); err != nil {
		return err
	}
	if err := cuda.Grow(g.device, through, len(values), cuda.AllocHost[T]); err != nil {
		return err
	}
	n := copy(through.Data(), values)
	return cuda.CopyToDevice(g.stream, *to, through.Data()[:n])
}
