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

// take returns an unused workspace, and waits for one.
func (g *gpu) take(ctx context.Context) (*workspace, error) {
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

// giveBack ends the use of a workspace and of its lists. If the device failed, it waits for the work and closes
// the workspace. The next batch meets an error of the device, so those of freeing memory are ignored.
func (g *gpu) giveBack(ws *workspace, failed bool) {
	ws.batch.Reset()
	if failed {
		_ = ws.stream.Synchronize()
	}
	_ = g.releaseFrom(ws, 0)
	clear(ws.decode.arrays)
	if failed {
		_ = ws.close()
		ws = nil
	}
	g.spaces <- ws
}

// hold makes the lists of the batch resident and returns the bytes copied. It drops the queries from the first
// one whose lists do not fit with those before.
func (g *gpu) hold(ws *workspace, b *batch) (copied int64, err error) {
	for i := range b.items {
		it := &b.items[i]
		for at := it.from; at < it.to; at++ {
			r, bytes, err := g.lists.hold(ws.stream, &b.lists[at])
			if errors.Is(err, errNoRoom) {
				b.keep(it.query)
				return copied, g.releaseFrom(ws, len(b.lists))
			}
			if err != nil {
				return copied, err
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

// intersect runs PARA on the batch, perhaps without its last queries (hold).
func (g *gpu) intersect(ws *workspace, b *batch, t *times) (err error) {
	if t.listBytes, err = g.hold(ws, b); err != nil {
		return fmt.Errorf("lists of a batch: %w", err)
	}
	if len(b.queries) == 0 {
		return nil
	}
	if g.form.isDecoded() {
		copied, err := g.decode(ws, b)
		if err != nil {
			return fmt.Errorf("decoding the lists of a batch: %w", err)
		}
		t.listBytes += copied
	}
	t.copied = time.Now()
	if err := ws.fill(g.form, b); err != nil {
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
