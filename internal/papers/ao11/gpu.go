package ao11

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// maxWorkspaces is the number of batches on the device at the same time.
const maxWorkspaces = 4

// gpu is the part of an Engine on a device.
type gpu struct {
	device  *cuda.Device
	name    string // in traces
	form    *form
	options para.Options
	kernels *para.Kernels
	decoder *decode.Kernels
	lists   residents
	spaces  chan *workspace // unused ones; nil: to be made
}

// newGPU loads the kernels. limit is of the lists, in bytes; 0: three quarters of the free memory.
func newGPU(c *config, d *cuda.Device, n *counts) (*gpu, error) {
	g := &gpu{device: d, name: fmt.Sprintf("gpu%d", d.Info().Ordinal), form: &c.form, options: c.form.kernels(), decoder: decode.New(d)}
	g.options.Threshold = c.threshold
	g.lists = residents{device: d, form: &c.form, counts: n, limit: c.memory, byKey: map[derived.List]*resident{}}
	g.spaces = make(chan *workspace, maxWorkspaces)
	for range maxWorkspaces {
		g.spaces <- nil
	}
	if c.memory == 0 {
		free, _, err := d.MemInfo()
		if err != nil {
			return nil, err
		}
		g.lists.limit = int64(free / 4 * 3)
	}
	var err error
	if g.kernels, err = para.Load(d); err != nil {
		return nil, err
	}
	return g, nil
}

// take returns an unused workspace, and waits for one. The error is the context's, or the device's.
func (g *gpu) take(ctx context.Context) (*workspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var ws *workspace
	select {
	case ws = <-g.spaces:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ws != nil {
		return ws, nil
	}
	ws, err := g.newWorkspace()
	if err != nil {
		g.spaces <- nil
	}
	return ws, err
}

// giveBack ends the use of a workspace and of its lists. One that is not reusable is closed, after its work. The next
// batch meets an error of the device, so errors of freeing memory are ignored.
func (g *gpu) giveBack(ws *workspace, reusable bool) {
	ws.batch.Reset()
	if !reusable {
		_ = ws.stream.Synchronize()
	}
	_ = g.releaseFrom(ws, 0)
	clear(ws.decode.arrays)
	if !reusable {
		_ = ws.close()
		ws = nil
	}
	g.spaces <- ws
}

// reclaim frees the lists and the workspaces that no batch uses.
func (g *gpu) reclaim() error {
	err := g.lists.evict()
	for range maxWorkspaces {
		select {
		case ws := <-g.spaces:
			if ws != nil {
				err = errors.Join(err, ws.close())
			}
			g.spaces <- nil
		default: // all others are in use
			return err
		}
	}
	return err
}

// hold makes the lists of the batch resident and returns the bytes copied. It drops the queries from the first
// one whose lists do not fit with those before. The error is the context's, the device's or a queryError.
func (g *gpu) hold(ctx context.Context, ws *workspace, b *batch) (copied int64, err error) {
	for i := range b.items {
		it := &b.items[i]
		for at := it.from; at < it.to; at++ {
			if err := ctx.Err(); err != nil {
				return copied, err
			}
			r, bytes, err := g.lists.hold(ws.stream, &b.lists[at])
			if errors.Is(err, errNoRoom) {
				b.keep(it.query)
				return copied, g.releaseFrom(ws, len(b.lists))
			}
			if err != nil {
				return copied, b.errorOf(it, err)
			}
			ws.held = append(ws.held, r)
			copied += bytes
		}
	}
	return copied, nil
}

// releaseFrom releases the held lists from a number on.
func (g *gpu) releaseFrom(ws *workspace, n int) error {
	err := g.lists.release(ws.held[n:])
	clear(ws.held[n:])
	ws.held = ws.held[:n]
	return err
}

// intersect runs PARA on the batch, perhaps without its last queries (hold). The error is the context's, the device's
// or a queryError. The context is looked at before each step; kernels that were launched are waited for.
func (g *gpu) intersect(ctx context.Context, ws *workspace, b *batch, t *times) (err error) {
	if t.listBytes, err = g.hold(ctx, ws, b); err != nil {
		return fmt.Errorf("lists of a batch: %w", err)
	}
	if len(b.queries) == 0 {
		return nil
	}
	if g.form.isDecoded() {
		copied, err := g.decode(ctx, ws, b)
		if err != nil {
			return fmt.Errorf("decoding the lists of a batch: %w", err)
		}
		t.listBytes += copied
	}
	t.copied = time.Now()
	if err := ws.fill(ctx, g.form, b); err != nil {
		return err
	}
	if err := ws.batch.Reserve(ws.stream); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.batchBytes = ws.batch.SizeBytes()
	err = ws.batch.Run(ws.stream)
	t.intersected = time.Now()
	return err
}

// close frees everything on the device. No batch may be running. Errors of a lost device, which has nothing to
// free, are ignored.
func (g *gpu) close() error {
	var errs []error
	for range maxWorkspaces {
		if ws := <-g.spaces; ws != nil {
			errs = append(errs, ws.close())
		}
	}
	errs = append(errs, g.lists.close(), g.decoder.Close(), g.kernels.Close())
	if g.device.Err() == nil {
		return errors.Join(errs...)
	}
	return nil
}
