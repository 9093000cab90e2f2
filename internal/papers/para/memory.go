package para

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// memory grows with the largest batch and never shrinks.
type memory struct {
	host   cuda.HostBuffer[uint64] // staging memory of the content
	device cuda.Buffer[uint64]

	slots       cuda.Buffer[uint32] // [blocks][blockSlots]
	tileBefore  cuda.Buffer[uint32]
	blockBefore cuda.Buffer[uint32]
	ticket      cuda.Buffer[uint32]

	starts cuda.HostBuffer[uint32] // results, written by the device
	docIDs cuda.HostBuffer[uint32]
}

// hold makes room for the batch.
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
		cuda.Grow(d, &m.host, b.words(), cuda.AllocHost[uint64]),
		cuda.Grow(d, &m.device, b.words(), cuda.Alloc[uint64]),
		cuda.Grow(d, &m.slots, blocks*blockSlots, cuda.Alloc[uint32]),
		cuda.Grow(d, &m.tileBefore, len(b.tiles), cuda.Alloc[uint32]),
		cuda.Grow(d, &m.blockBefore, blocks+1, cuda.Alloc[uint32]),
		cuda.Grow(d, &m.starts, b.Len()+1, cuda.AllocHost[uint32]),
		cuda.Grow(d, &m.docIDs, docIDs, cuda.AllocHost[uint32]),
	)
}

func (b *Batch) upload(s *cuda.Stream) error {
	if b.numBlocks() == 0 {
		// No kernel runs to write the counts.
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
