package para

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// memory is what a batch works in. It grows with the largest batch and is then left as
// it is.
type memory struct {
	host   cuda.HostBuffer[uint64] // the content, on its way
	device cuda.Buffer[uint64]

	slots       cuda.Buffer[uint32] // [blocks][blockSlots]
	tileBefore  cuda.Buffer[uint32]
	blockBefore cuda.Buffer[uint32]
	ticket      cuda.Buffer[uint32]

	starts cuda.HostBuffer[uint32] // results, written by the device
	docIDs cuda.HostBuffer[uint32]
}

// hold sees to it that there is room for the batch.
func (m *memory) hold(b *Batch, s *cuda.Stream) error {
	d := b.kernels.device
	if m.ticket.IsZero() {
		ticket, err := cuda.Alloc[uint32](d, 1)
		if err != nil {
			return err
		}
		if err := cuda.Fill(s, ticket, 0); err != nil {
			return errors.Join(err, ticket.Free())
		}
		m.ticket = ticket
	}
	blocks := b.numBlocks()
	docIDs := 1
	if !b.options.CountOnly {
		docIDs = b.elements
	}
	return errors.Join(
		growHost(d, &m.host, b.words()),
		grow(d, &m.device, b.words()),
		grow(d, &m.slots, blocks*blockSlots),
		grow(d, &m.tileBefore, len(b.tiles)),
		grow(d, &m.blockBefore, blocks+1),
		growHost(d, &m.starts, b.Len()+1),
		growHost(d, &m.docIDs, docIDs),
	)
}

// grow makes buf hold at least n, with a quarter more so that batches of about the
// same size do not make it grow again. What it held is lost.
func grow[T any](d *cuda.Device, buf *cuda.Buffer[T], n int) error {
	if buf.Len() >= n {
		return nil
	}
	if err := buf.Free(); err != nil {
		return err
	}
	var err error
	*buf, err = cuda.Alloc[T](d, n+n/4)
	return err
}

// growHost is grow for page-locked memory.
func growHost[T any](d *cuda.Device, buf *cuda.HostBuffer[T], n int) error {
	if buf.Len() >= n {
		return nil
	}
	if err := buf.Free(); err != nil {
		return err
	}
	var err error
	*buf, err = cuda.AllocHost[T](d, n+n/4)
	return err
}

// upload copies the content to the device.
func (b *Batch) upload(s *cuda.Stream) error {
	if b.numBlocks() == 0 {
		// No kernel counts: there is nothing before the end.
		if err := cuda.Fill(s, b.memory.blockBefore, 0); err != nil {
			return err
		}
	}
	host := b.memory.host.Data()
	at := copy(host, b.lists)
	at += copy(host[at:], b.queries)
	at += copy(host[at:], b.tiles)
	return cuda.CopyToDevice(s, b.memory.device.Slice(0, at), host[:at])
}

func (m *memory) free() error {
	err := errors.Join(
		m.host.Free(), m.device.Free(), m.slots.Free(), m.tileBefore.Free(), m.blockBefore.Free(),
		m.ticket.Free(), m.starts.Free(), m.docIDs.Free(),
	)
	*m = memory{}
	return err
}
