package ao11

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// workspace is the memory of a batch on the device, for one batch at a time.
type workspace struct {
	stream *cuda.Stream
	batch  *para.Batch
	held   []*resident // of batch.lists
	decode decodeSpace

	views      []intersect.View
	compressed []intersect.CompressedView
	arrays     []para.Array
}

func (g *gpu) newWorkspace() (*workspace, error) {
	ws := new(workspace)
	var err error
	if ws.stream, err = g.device.NewStream(); err == nil {
		ws.batch, err = g.kernels.NewBatch(g.options)
	}
	if err != nil {
		return nil, errors.Join(err, ws.close())
	}
	return ws, nil
}

func (ws *workspace) close() error {
	err := ws.decode.free()
	if ws.batch != nil {
		err = errors.Join(err, ws.batch.Close())
	}
	if ws.stream != nil {
		err = errors.Join(err, ws.stream.Close())
	}
	return err
}

// fill adds the items of a batch, whose lists are held, to the batch of the kernels. The error is the context's or a
// queryError.
func (ws *workspace) fill(ctx context.Context, f *form, b *batch) (err error) {
	for i := range b.items {
		if err := ctx.Err(); err != nil {
			return err
		}
		it := &b.items[i]
		switch {
		case f.code >= lrc:
			ws.compressed = ws.compressed[:0]
			for _, r := range ws.held[it.from:it.to] {
				ws.compressed = append(ws.compressed, r.compressed.View())
			}
			err = ws.batch.AddCompressed(ws.compressed...)
		case f.isDecoded():
			ws.arrays = ws.arrays[:0]
			for _, l := range b.listsOf(it) {
				ws.arrays = append(ws.arrays, ws.decode.arrays[l.List])
			}
			err = ws.batch.AddArrays(ws.arrays...)
		case f.parts > 0:
			ws.arrays = ws.arrays[:0]
			for _, r := range ws.held[it.from:it.to] {
				ws.arrays = append(ws.arrays, r.array)
			}
			err = ws.batch.AddArrays(ws.arrays...)
		default:
			ws.views = ws.views[:0]
			for _, r := range ws.held[it.from:it.to] {
				ws.views = append(ws.views, r.plain.View())
			}
			err = ws.batch.Add(ws.views...)
		}
		if err != nil {
			return b.errorOf(it, err)
		}
	}
	return nil
}
