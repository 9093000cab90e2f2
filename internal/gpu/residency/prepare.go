package residency

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs"
)

// preparer uploads what later queries need, beside queries: it has an uploader of its own.
type preparer struct {
	mu sync.Mutex // held for a list or a bitmap at a time
	u  *Uploader
}

func (p *preparer) open(d *Device) (err error) {
	if p.u, err = newUploader(d, len(d.uploaders), true /* slots */); err == nil {
		d.uploaders = append(d.uploaders, p.u)
	}
	return err
}

func (p *preparer) synchronize() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.u.Synchronize()
}

// uploadBits copies n words of 32 bits and waits, so that all streams may use them.
func (p *preparer) uploadBits(dst cuda.Buffer[uint32], bits []uint64, n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.u.copyBits(dst, bits, n); err != nil {
		return err
	}
	return p.u.stream.Synchronize()
}

// Hot is a list that the device or the page-locked memory has of some segments, by its term.
type Hot struct {
	term   term
	action Action // that makes the same form
	uses   float64
	worth  float64 // of a byte of it
}

// hotChunk is the number of entries that are read at a time while the cache is locked.
const hotChunk = 4096

// Hot returns the lists that are resident for shards, the most useful first. While it reads, others may
// come and go.
func (d *Device) Hot(shards []*Shard) []Hot {
	found := map[term]Hot{}
	d.cache.hot(shards, found)
	d.host.cache.hot(shards, found)
	hot := make([]Hot, 0, len(found))
	for _, h := range found {
		hot = append(hot, h)
	}
	base.Sort(hot, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.term.field, b.term.field), cmp.Compare(a.term.bytes, b.term.bytes))
	})
	return hot
}

func (c *cache) hot(shards []*Shard, found map[term]Hot) {
	for at, more := 0, true; more; at += hotChunk {
		more = c.hotPart(shards, found, at)
	}
}

func (c *cache) hotPart(shards []*Shard, found map[term]Hot, at int) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := at; i < min(at+hotChunk, len(c.heap)); i++ {
		e := c.heap[i]
		if len(e.term.bytes) == 0 || !slices.ContainsFunc(shards, func(p *Shard) bool { return p.id == e.key.shard }) {
			continue
		}
		uses := e.frequency + float64(e.uses.Load())
		h := Hot{term: e.term, action: e.key.kind.action(), uses: uses, worth: e.densityAt(uses, e.extent.size)}
		if known, ok := found[e.term]; ok {
			h.action = min(h.action, known.action)
			h.uses, h.worth = max(h.uses, known.uses), max(h.worth, known.worth)
		}
		found[e.term] = h
	}
	return at+hotChunk < len(c.heap)
}

// action makes a list of that kind.
func (k kind) action() Action {
	switch k {
	case kindImage:
		return UploadImage
	case kindPacked:
		return LockAndPack
	case kindDirectory:
		return LockAndPackDirectory
	}
	return LockList
}

// manyRefusals is the number of consecutive lists without room after which Prepare ends. Smaller lists
// may fit where larger ones did not.
const manyRefusals = 64

// Prepared reports whether Prepare has completed for the shard.
func (p *Shard) Prepared() bool { return p.prepared.Load() }

// Prepare uploads the lists of hot terms, with the lengths that queries need with them, to a shard of s,
// until they are resident, there is no free memory, or ctx ends. It evicts nothing. It returns the
// number of lists. The error is ctx's, a device's, or wraps base.ErrCorrupt; queries are answered all
// the same.
func (d *Device) Prepare(ctx context.Context, p *Shard, s *Segment, hot []Hot) (lists int, err error) {
	if s.Segment == nil || p.prepared.Load() {
		return 0, nil
	}
	refused := 0
	for i := range hot {
		if err := ctx.Err(); err != nil {
			return lists, err
		}
		there, err := d.prepareList(p, s, &hot[i])
		switch {
		case errors.Is(err, ErrNoRoom), errors.Is(err, ErrTooLarge), errors.Is(err, cuda.ErrOutOfMemory):
			if refused++; refused == manyRefusals {
				return lists, nil
			}
		case err != nil:
			return lists, err
		case there:
			lists++
			refused = 0
		}
	}
	if err := d.preparer.synchronize(); err != nil {
		return lists, d.Note(err)
	}
	p.prepared.Store(true)
	return lists, nil
}

// begin takes the preparer. end gives it back, also after a panic.
func (p *preparer) begin(d *Device) (end func()) {
	p.mu.Lock()
	d.holders.begin()
	return func() {
		defer p.mu.Unlock()
		defer d.holders.end()
		if p.u.Busy() { // a panic
			_ = d.Note(p.u.AbandonAll())
		}
	}
}

func (d *Device) prepareList(p *Shard, s *Segment, h *Hot) (there bool, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	var of Leg
	of.List, of.Field, of.Word = new(postings.List), h.term.field, []byte(h.term.bytes)
	if found, err := s.Segment.Find(of.Field, of.Word, of.List); err != nil || !found {
		return false, err
	}
	q := &d.preparer
	end := q.begin(d)
	defer end()
	if _, err := q.u.lengthsFor(p, s, of.Field); err != nil {
		return false, d.Note(err)
	}
	if there, err = q.u.Warm(p, s, &of, h.action); err != nil {
		return false, d.Note(err)
	}
	if known := d.records.ofLeg(&of, p.id); known != nil {
		for k := range known.held {
			if e := known.held[k].Load(); e != nil {
				e.uses.Add(uint32(min(h.uses, maxFrequency)))
			}
		}
	}
	return true, nil
}

// lengthsFor is Lengths if the scores of the field need them.
func (u *Uploader) lengthsFor(p *Shard, s *Segment, field base.FieldID) (cuda.Buffer[uint32], error) {
	if p.sat[field].Linear {
		return cuda.Buffer[uint32]{}, nil
	}
	return u.Lengths(p, s, field)
}
