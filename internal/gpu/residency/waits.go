package residency

import (
	"math/bits"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Waits are the uploads for which a run's stream waits. They belong to one goroutine.
type Waits struct {
	d       *Device
	awaited []uint32 // by uploader number; a bit for each event
}

// NewWaits returns an empty set of uploads to wait for.
func (d *Device) NewWaits() Waits {
	return Waits{d, make([]uint32, len(d.uploaders))}
}

// Reset forgets the uploads of the previous run.
func (w *Waits) Reset() { clear(w.awaited) }

// Any reports whether a stream waits for an upload since Reset.
func (w *Waits) Any() bool {
	for _, word := range w.awaited {
		if word != 0 {
			return true
		}
	}
	return false
}

// Image makes a stream wait for the upload of an image.
func (w *Waits) Image(s *cuda.Stream, e *Entry) error {
	if e.loaded.Load() {
		return nil
	}
	return w.await(s, e)
}

// Packed makes a stream wait for the uploads of a compressed list.
func (w *Waits) Packed(s *cuda.Stream, l *PackedList) error {
	e := l.packed
	if e == nil {
		e = l.directory
	}
	if e == nil {
		return nil
	}
	return w.Image(s, e)
}

// await waits once per event. The run has gathered all its lists before, so a later use of the
// event does no harm.
func (w *Waits) await(s *cuda.Stream, e *Entry) error {
	bit := uint32(1) << e.event
	if w.awaited[e.lane]&bit != 0 {
		return nil
	}
	w.awaited[e.lane] |= bit
	return s.Wait(w.d.uploaders[e.lane].events[e.event])
}

// Ended removes unfinished uploads, for a run that does not wait for its stream (rejected or
// without lists). MarkLoaded and MarkPackedLoaded may follow.
func (w *Waits) Ended() {
	for number, word := range w.awaited {
		for ; word != 0; word &= word - 1 {
			i := bits.TrailingZeros32(word)
			done, err := w.d.uploaders[number].events[i].Query()
			if _ = w.d.Note(err); err != nil || !done {
				w.awaited[number] &^= 1 << i
			}
		}
	}
}

// MarkLoaded spares later runs the wait for an entry whose upload the run awaited.
func (w *Waits) MarkLoaded(e *Entry) {
	if e != nil && w.awaited[e.lane]&(1<<e.event) != 0 {
		e.loaded.Store(true)
	}
}

// MarkPackedLoaded is MarkLoaded of each entry of a packed list.
func (w *Waits) MarkPackedLoaded(l *PackedList) {
	w.MarkLoaded(l.packed)
	w.MarkLoaded(l.directory)
}
