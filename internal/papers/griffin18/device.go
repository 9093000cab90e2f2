package griffin18

import (
	"errors"
	"fmt"
	"sync"
	"weak"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/segment"
)

// device is what all queries share on the GPU: kernels, and the lengths of documents. It is safe for
// concurrent use.
type device struct {
	cuda     *cuda.Device
	name     string // "gpu0"
	kernels  *kernels
	x        *intersect.Intersector
	scorers  *scoring.Kernels
	selector *selection.Selector

	mu      sync.Mutex
	lengths map[lengthsKey]*lengths // guarded by mu
}

// lengths are the lengths of a segment's documents in a field, on the device.
type lengths struct {
	words cuda.Buffer[uint32]
	users int // segments of running queries that read them; guarded by device.mu
}

// lengthsKey does not keep a segment that no snapshot has any more.
type lengthsKey struct {
	segment weak.Pointer[segment.Segment]
	field   base.FieldID
}

// newDevice loads the kernels; from a ratio of crossing on, compressed lists are searched.
func newDevice(c *cuda.Device, crossing int) (*device, error) {
	d := &device{cuda: c, name: fmt.Sprintf("gpu%d", c.Info().Ordinal), lengths: map[lengthsKey]*lengths{}}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.x.BlockCrossing = crossing
	return d, nil
}

func (d *device) load() (err error) {
	if d.kernels, err = loadKernels(d.cuda); err != nil {
		return err
	}
	if d.x, err = intersect.New(d.cuda); err != nil {
		return err
	}
	if d.scorers, err = scoring.New(d.cuda); err != nil {
		return err
	}
	d.selector, err = selection.New(d.cuda)
	return err
}

// lost reports whether the GPU is unusable.
func (d *device) lost() bool { return d.cuda.Err() != nil }

// close frees memory and kernels, which must not be in use.
func (d *device) close() error {
	var errs []error
	for _, l := range d.lengths {
		errs = append(errs, l.words.Free())
	}
	d.lengths = nil
	if d.kernels != nil {
		errs = append(errs, d.kernels.close())
	}
	if d.x != nil {
		errs = append(errs, d.x.Close())
	}
	if d.scorers != nil {
		errs = append(errs, d.scorers.Close())
	}
	if d.selector != nil {
		errs = append(errs, d.selector.Close())
	}
	return errors.Join(errs...)
}

// lengthsOf returns a segment's lengths in a field, until release, and the bytes that it copied for them. They
// stay on the device while the segment is in use and memory suffices, and are freed when lengths of
// another segment arrive.
func (d *device) lengthsOf(s *cuda.Stream, of *segment.Segment, field base.FieldID, values []uint32) (l *lengths, copied int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := lengthsKey{weak.Make(of), field}
	if l, ok := d.lengths[key]; ok {
		l.users++
		return l, 0, nil
	}
	// Of segments that are gone:
	err = d.freeIf(func(key lengthsKey, _ *lengths) bool { return key.segment.Value() == nil })
	if err != nil {
		return nil, 0, err
	}
	l = &lengths{users: 1}
	if l.words, err = cuda.Alloc[uint32](d.cuda, len(values)); err != nil {
		return nil, 0, err
	}
	if err := errors.Join(cuda.CopyToDevice(s, l.words, values), s.Synchronize()); err != nil {
		return nil, 0, errors.Join(err, l.words.Free())
	}
	d.lengths[key] = l
	return l, l.words.SizeBytes(), nil
}

// release ends the use of lengths, which no work may read any more.
func (d *device) release(all []*lengths) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range all {
		l.users--
	}
}

// freeLengths frees the lengths that no running query reads.
func (d *device) freeLengths() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.freeIf(func(_ lengthsKey, l *lengths) bool { return l.users == 0 })
}

// freeIf frees some lengths. mu is held.
func (d *device) freeIf(unused func(lengthsKey, *lengths) bool) error {
	for key, l := range d.lengths {
		if unused(key, l) {
			delete(d.lengths, key)
			if err := l.words.Free(); err != nil {
				return err
			}
		}
	}
	return nil
}
