package ao11

import (
	"container/list"
	"errors"
	"sync"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// errNoRoom means that the lists in use leave no room for another one.
var errNoRoom = errors.New("no room for a list in the memory of the GPU")

// resident is a list in device memory. One of its forms is set.
type resident struct {
	plain      *intersect.Contracted
	compressed *intersect.Compressed
	array      para.Array // with local safe ranges

	payload, directory cuda.Buffer[uint32] // coded with d-gaps

	sizeBytes int64
	key       derived.List
	users     int           // batches; guarded by residents.mu
	at        *list.Element // nil if it is not kept
}

func (r *resident) free() error {
	err := errors.Join(r.payload.Free(), r.directory.Free(), r.array.DocIDs.Free(), r.array.Parts.Free())
	if r.plain != nil {
		err = errors.Join(err, r.plain.Free())
	}
	if r.compressed != nil {
		err = errors.Join(err, r.compressed.Free())
	}
	return err
}

// residents are the lists in device memory, within a limit. The least recently used ones give way to
// new ones, unless a batch uses them. Lists of closed segments are among these after a while.
type residents struct {
	device *cuda.Device
	form   *form
	counts *counts
	limit  int64

	mu    sync.Mutex // held during copies: one list is copied at a time
	used  int64
	byKey map[derived.List]*resident
	order list.List // of *resident, the most recently used first
}

// hold returns the list on the device until release, and copies it there if it is missing; copied is then
// its size. The error is errNoRoom, of the device, or wraps base.ErrCorrupt.
func (c *residents) hold(s *cuda.Stream, l *hostList) (r *resident, copied int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r = c.byKey[l.kept]; r != nil {
		c.counts.hits.Add(1)
		c.order.MoveToFront(r.at)
		r.users++
		return r, 0, nil
	}
	c.counts.misses.Add(1)
	if err := c.makeRoom(4 * int64(len(l.Payload))); err != nil {
		return nil, 0, err
	}
	if r, err = c.copy(s, l); err != nil {
		return nil, 0, errors.Join(err, r.free())
	}
	if err := c.makeRoom(r.sizeBytes); err != nil { // exactly
		return nil, 0, errors.Join(err, r.free())
	}
	c.used += r.sizeBytes
	r.users = 1
	if r.key = l.kept; r.key != (derived.List{}) {
		c.byKey[r.key] = r
		r.at = c.order.PushFront(r)
	}
	return r, r.sizeBytes, nil
}

// release ends the use of lists.
func (c *residents) release(lists []*resident) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, r := range lists {
		if r.users--; r.users == 0 && r.at == nil {
			c.used -= r.sizeBytes
			err = errors.Join(err, r.free())
		}
	}
	return err
}

// makeRoom frees lists until there is room for one of a size.
func (c *residents) makeRoom(sizeBytes int64) error {
	if sizeBytes > c.limit {
		return errNoRoom
	}
	for at := c.order.Back(); c.used+sizeBytes > c.limit; {
		if at == nil {
			return errNoRoom
		}
		r, before := at.Value.(*resident), at.Prev()
		if r.users == 0 {
			if err := c.drop(r); err != nil {
				return err
			}
		}
		at = before
	}
	return nil
}

func (c *residents) drop(r *resident) error {
	c.order.Remove(r.at)
	delete(c.byKey, r.key)
	c.used -= r.sizeBytes
	return r.free()
}

// evict frees the lists that no batch uses.
func (c *residents) evict() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := c.order.Back(); at != nil; {
		r, before := at.Value.(*resident), at.Prev()
		if r.users == 0 {
			err = errors.Join(err, c.drop(r))
		}
		at = before
	}
	return err
}

// close frees all lists, which no batch may use.
func (c *residents) close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.order.Len() > 0 {
		err = errors.Join(err, c.drop(c.order.Back().Value.(*resident)))
	}
	return err
}

// copy copies a list to the device and waits. After an error, the caller frees the resident.
func (c *residents) copy(s *cuda.Stream, l *hostList) (*resident, error) {
	r := new(resident)
	var err error
	switch f := c.form; {
	case f.code >= lrc:
		r.compressed, err = intersect.NewCompressed(s, c.device, f.codec.(codec.Regression), l.Bytes(), l.NumPostings)
		if err == nil {
			r.sizeBytes = r.compressed.SizeBytes()
		}
		return r, err
	case f.isDecoded():
		err = errors.Join(put(s, &r.payload, l.Payload), put(s, &r.directory, l.Directory))
		r.sizeBytes = r.payload.SizeBytes() + r.directory.SizeBytes()
	case f.parts > 0:
		local := l.ranges.local
		r.array = para.Array{NumPostings: l.NumPostings, PartLen: local.size}
		err = errors.Join(put(s, &r.array.DocIDs, l.docIDs()), put(s, &r.array.Parts, local.forKernels()))
		r.sizeBytes = r.array.DocIDs.SizeBytes() + r.array.Parts.SizeBytes()
	default:
		r.plain, err = intersect.NewContracted(s, c.device, l.docIDs(), f.contraction(l.numDocs))
		if err == nil {
			r.sizeBytes = r.plain.SizeBytes()
		}
		return r, err
	}
	return r, errors.Join(err, s.Synchronize())
}

// put allocates a buffer with data, also if the copy then fails.
func put[T any](s *cuda.Stream, to *cuda.Buffer[T], data []T) (err error) {
	if *to, err = cuda.Alloc[T](s.Device(), len(data)); err != nil {
		return err
	}
	return cuda.CopyToDevice(s, *to, data)
}
