package griffin18

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// bus copies between the host and the device on a stream, through page-locked memory, which grows.
type bus struct {
	device *device
	stream *cuda.Stream

	to     cuda.HostBuffer[uint32] // on the way to the device
	from   cuda.HostBuffer[uint32] // from the device
	word   cuda.HostBuffer[uint32] // one number from the device
	busy   bool                    // to may be in use
	copied int64                   // bytes to the device since the last step
}

func newBus(d *device) (*bus, error) {
	b := &bus{device: d}
	var err error
	if b.stream, err = d.cuda.NewStream(); err != nil {
		return nil, err
	}
	if b.word, err = cuda.AllocHost[uint32](d.cuda, 1); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bus) close() error {
	return errors.Join(b.to.Free(), b.from.Free(), b.word.Free(), b.stream.Close())
}

// wait waits for the stream.
func (b *bus) wait() error {
	b.busy = false
	return b.stream.Synchronize()
}

func (b *bus) grow(buffer *cuda.Buffer[uint32], n int) error {
	return cuda.Grow(b.device.cuda, buffer, n, cuda.Alloc[uint32])
}

// copyTo enqueues a copy of words to dst, which grows. The parts are adjacent there, each from a multiple of
// 4 words on.
func (b *bus) copyTo(dst *cuda.Buffer[uint32], parts ...[]uint32) ([]cuda.Buffer[uint32], error) {
	if b.busy {
		if err := b.wait(); err != nil {
			return nil, err
		}
	}
	total := 0
	for _, p := range parts {
		total += aligned(len(p))
	}
	if err := errors.Join(b.grow(dst, total), cuda.Grow(b.device.cuda, &b.to, total, cuda.AllocHost[uint32])); err != nil {
		return nil, err
	}
	staging := b.to.Data()
	copies := make([]cuda.Buffer[uint32], 0, len(parts))
	at := 0
	for _, p := range parts {
		copies = append(copies, dst.Slice(at, at+len(p)))
		end := at + copy(staging[at:], p)
		at += aligned(len(p))
		clear(staging[end:at])
	}
	b.copied += 4 * int64(total)
	b.busy = true
	return copies, cuda.CopyToDevice(b.stream, *dst, staging[:total])
}

// aligned rounds up to 16 bytes.
func aligned(words int) int { return (words + 3) &^ 3 }

// number waits for a number that earlier work computes.
func (b *bus) number(of cuda.Buffer[uint32]) (int, error) {
	if err := cuda.CopyToHost(b.stream, b.word.Data(), of); err != nil {
		return 0, err
	}
	if err := b.wait(); err != nil {
		return 0, err
	}
	return int(b.word.Data()[0]), nil
}

// copyFrom waits for copies of buffers in page-locked memory, valid until the next call.
func (b *bus) copyFrom(buffers ...cuda.Buffer[uint32]) ([][]uint32, error) {
	total := 0
	for _, of := range buffers {
		total += of.Len()
	}
	if err := cuda.Grow(b.device.cuda, &b.from, total, cuda.AllocHost[uint32]); err != nil {
		return nil, err
	}
	copies := make([][]uint32, 0, len(buffers))
	at := 0
	for _, of := range buffers {
		part := b.from.Data()[at : at+of.Len()]
		if err := cuda.CopyToHost(b.stream, part, of); err != nil {
			return nil, err
		}
		copies = append(copies, part)
		at += of.Len()
	}
	return copies, b.wait()
}
