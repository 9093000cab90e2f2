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
	lengths map[lengthsKey]cuda.Buffer[uint32] // guarded by mu
}

// lengthsKey does not keep a segment that no snapshot has any more.
type lengthsKey struct {
	segment weak.Pointer[segment.Segment]
	field   base.FieldID
}

// newDevice loads the kernels; from a ratio of crossing on, compressed lists are searched.
func newDevice(c *cuda.Device, crossing int) (*device, error) {
	d := &device{cuda: c, name: fmt.Sprintf("gpu%d", c.Info().Ordinal), lengths: map[lengthsKey]cuda.Buffer[uint32]{}}
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
	for _, b := range d.lengths {
		errs = append(errs, b.Free())
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

// lengthsOf returns a segment's lengths in a field, and the bytes that it copied for them. They stay on
// the device while the segment is in use, and are freed when lengths of another segment arrive.
func (d *device) lengthsOf(s *cuda.Stream, of *segment.Segment, field base.FieldID, values []uint32) (b cuda.Buffer[uint32], copied int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := lengthsKey{weak.Make(of), field}
	if b, ok := d.lengths[key]; ok {
		return b, 0, nil
	}
	if err := d.sweep(); err != nil {
		return b, 0, err
	}
	if b, err = cuda.Alloc[uint32](d.cuda, len(values)); err != nil {
		return b, 0, err
	}
	if err := errors.Join(cuda.CopyToDevice(s, b, values), s.Synchronize()); err != nil {
		return cuda.Buffer[uint32]{}, 0, errors.Join(err, b.Free())
	}
	d.lengths[key] = b
	return b, b.SizeBytes(), nil
}

// sweep frees the lengths of segments that are gone.
func (d *device) sweep() error {
	for key, b := range d.lengths {
		if key.segment.Value() == nil {
			delete(d.lengths, key)
			if err := b.Free(); err != nil {
				return err
			}
		}
	}
	return nil
}
