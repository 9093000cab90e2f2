package ding09

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

// queriesOnGPU is the number of queries whose lists are in use: one computes while the lists of another
// are transferred (§5).
const queriesOnGPU = 2

// gpu answers queries on one device. Its methods are safe for concurrent use.
type gpu struct {
	device  *cuda.Device
	code    code
	codec   decode.Codec
	levels  int
	whole   bool
	cache   *cache
	kernels *kernels

	listHits, listMisses, structureBytes atomic.Int64

	slots chan struct{} // one for each search

	mu     sync.Mutex // one query at a time computes
	stream *cuda.Stream
	work   workspace
	narrow *narrowRanker
	wide   *wideRanker
	timer  timer
}

func newGPU(d *cuda.Device, o *options) (*gpu, error) {
	g := &gpu{
		device: d, code: o.gpuCode(), levels: o.levels, whole: o.whole, slots: make(chan struct{}, queriesOnGPU),
		narrow: newNarrowRanker(), wide: newWideRanker(),
	}
	on, ok := decode.CodecOf(g.code.codec)
	if !ok {
		return nil, fmt.Errorf("the device does not decode %s", g.code.codec.Name())
	}
	g.codec = on
	if err := g.open(o.cacheBytes); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gpu) open(cacheBytes int64) (err error) {
	if g.kernels, err = loadKernels(g.device); err != nil {
		return err
	}
	if err = g.kernels.decoders.Prepare(g.codec); err != nil {
		return err
	}
	if g.stream, err = g.device.NewStream(); err != nil {
		return err
	}
	g.cache, err = newCache(g.device, cacheBytes)
	return err
}

// close frees everything on the device, which stays open. No query may be running.
func (g *gpu) close() error {
	var errs []error
	if g.cache != nil {
		errs = append(errs, g.cache.close())
	}
	errs = append(errs, g.work.free(), g.narrow.free(), g.wide.free(), g.timer.close())
	if g.stream != nil {
		errs = append(errs, g.stream.Close())
	}
	if g.kernels != nil {
		errs = append(errs, g.kernels.close())
	}
	if g.lost() {
		return nil // its memory is gone
	}
	return errors.Join(errs...)
}

func (g *gpu) lost() bool { return g.device.Err() != nil }

// accepts reports whether the device can answer the query: it is not lost, and k and the number of
// words are within limits.
func (g *gpu) accepts(stages []stage) bool {
	if g.lost() || stages[0].k > selection.MaxK {
		return false
	}
	for i := range stages {
		for _, terms := range stages[i].segments {
			if len(terms) > scoring.MaxTerms {
				return false
			}
		}
	}
	return true
}

// usage is the cost of a query.
type usage struct {
	computing   time.Duration
	transferred transfer
}

// search answers a query when fewer than queriesOnGPU others are searched. The error is the context's, of
// the device (isFault), or wraps base.ErrCorrupt.
func (g *gpu) search(ctx context.Context, q *engine.Query, stages []stage) error {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.slots }()
	d, err := g.fetch(ctx, q, stages)
	return g.complete(ctx, d, err)
}

// fetch copies the missing lists of a query to the device. complete must follow, or g.cache.release of its
// items.
func (g *gpu) fetch(ctx context.Context, q *engine.Query, stages []stage) (*deviceQuery, error) {
	d := &deviceQuery{gpu: g, query: q, k: stages[0].k}
	return d, d.bring(ctx, stages)
}

// complete answers a query after fetch, which returned err.
func (g *gpu) complete(ctx context.Context, d *deviceQuery, err error) error {
	if err == nil {
		err = g.compute(ctx, d)
	}
	if e := g.cache.release(d.items); err == nil {
		err = e
	}
	return err
}

// isFault reports whether an error is the device's, after which the CPU can answer.
func isFault(err error) bool {
	var device *cuda.Error
	return errors.As(err, &device) && device.CPUValid()
}

// compute runs a query whose lists are on the device.
func (g *gpu) compute(ctx context.Context, d *deviceQuery) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	defer func() { d.used.computing = time.Since(began) }()
	err := g.makeRoom(d)
	if errors.Is(err, cuda.ErrOutOfMemory) && !g.lost() {
		if err = g.cache.empty(g.device); err == nil {
			err = g.makeRoom(d)
		}
	}
	if err != nil {
		return err
	}
	if d.wide {
		return answer(ctx, g, g.wide, d)
	}
	return answer(ctx, g, g.narrow, d)
}

func (g *gpu) makeRoom(d *deviceQuery) error {
	err := g.work.grow(g.device, g.kernels, d.sizes)
	if d.wide {
		return errors.Join(err, g.wide.grow(g.device, d.sizes))
	}
	return errors.Join(err, g.narrow.grow(g.device, d.sizes))
}
