package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/postings"
)

type decoded struct {
	docIDs, freqs []uint32
	err           error
}

func decode(l *postings.List) (d decoded) {
	d.docIDs, d.freqs = make([]uint32, 0, l.DocFreq), make([]uint32, 0, l.DocFreq)
	var c postings.Cursor
	c.Reset(l, nil)
	for doc := c.Next(); c.BlockIndex() < c.NumBlocks() && len(d.docIDs) < int(l.DocFreq); doc = c.NextBlock() {
		_ = doc
		d.docIDs = append(d.docIDs, c.BlockDocIDs()...)
		d.freqs = append(d.freqs, c.BlockFreqs()...)
	}
	d.err = c.Err()
	return d
}

// upload decodes lists on the CPU, several ahead, and builds their images.
func (t *target) upload() error {
	var err error
	if t.lengths, err = cuda.Alloc[uint32](t.device, t.numDocs); err != nil {
		return err
	}
	if err := cuda.CopyToDevice(t.stream, t.lengths, t.bench.lengths); err != nil {
		return err
	}
	longest := 0
	for i := range t.lists {
		longest = max(longest, int(t.lists[i].DocFreq))
		t.stats.Postings += int64(t.lists[i].DocFreq)
	}
	docIDs, err := cuda.Alloc[uint32](t.device, longest)
	if err != nil {
		return err
	}
	freqs, err := cuda.Alloc[uint32](t.device, longest)
	if err != nil {
		return err
	}
	began := time.Now()
	ahead := make([]chan decoded, len(t.lists))
	for i := range ahead {
		ahead[i] = make(chan decoded, 1)
	}
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	go func() {
		for i := range t.lists {
			slots <- struct{}{}
			go func() { ahead[i] <- decode(&t.lists[i]) }()
		}
	}()
	var built time.Duration
	for i := range t.lists {
		d := <-ahead[i]
		<-slots
		if d.err != nil {
			return d.err
		}
		took, err := t.build(i, &d, docIDs, freqs)
		if err != nil {
			return fmt.Errorf("list %d: %w", i, err)
		}
		built += took
	}
	t.stats.BuildGs = float64(t.stats.Postings) / built.Seconds() / 1e9
	fmt.Printf("%s: %d lists, %d postings uploaded in %.1f s, images of %.2f GB built at %.1f G postings/s\n",
		t.name, len(t.lists), t.stats.Postings, time.Since(began).Seconds(), float64(t.stats.Images)/1e9, t.stats.BuildGs)
	return errors.Join(docIDs.Free(), freqs.Free())
}

// build returns the time without the upload.
func (t *target) build(i int, d *decoded, docIDs, freqs cuda.Buffer[uint32]) (time.Duration, error) {
	l := &t.lists[i]
	shape := imagesearch.Shape{NumDocs: t.numDocs, DocFreq: int(l.DocFreq), CollFreq: l.CollFreq, Saturation: t.sat, Max: l.Max, Compact: t.options.compact}
	data, err := cuda.Alloc[byte](t.device, int(shape.SizeBytes()))
	if err != nil {
		return 0, err
	}
	t.stats.Images += shape.SizeBytes()
	t.data = append(t.data, data)
	if err := cuda.CopyToDevice(t.stream, docIDs, d.docIDs); err != nil {
		return 0, err
	}
	if err := cuda.CopyToDevice(t.stream, freqs, d.freqs); err != nil {
		return 0, err
	}
	if err := t.stream.Synchronize(); err != nil {
		return 0, err
	}
	began := time.Now()
	m, err := t.kernels.Build(t.stream, data, shape, docIDs, freqs, t.lengths)
	if err != nil {
		return 0, err
	}
	t.images = append(t.images, m)
	err = t.stream.Synchronize()
	return time.Since(began), err
}
