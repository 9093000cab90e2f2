package pipeline

import (
	"time"

	"github.com/griffin-search/griffin/internal/gpu/direct"
	"github.com/griffin-search/griffin/internal/postings"
)

// readsDirectly reports whether kernels can read a leg's list where it lies: all of its
// postings are the device's, and package direct knows the codec.
func (d *device) readsDirectly(p *part, leg *Leg) bool {
	return p.whole && leg.List != nil && direct.Supported(leg.List.Codec) == nil
}

// directly reports whether a query can be answered from compressed lists on a device.
func (v *View) directly(device int, q *terms, k int) bool {
	if q.len() > direct.MaxLists || k > direct.MaxK {
		return false
	}
	for s := range v.pieces[device] {
		p := v.pieces[device][s].part
		if p == nil {
			continue
		}
		legs := q.of(s)
		for j := range legs {
			if legs[j].DocFreq > 0 && !v.engine.devices[device].readsDirectly(p, &legs[j]) {
				return false
			}
		}
	}
	return true
}

// terms are those of a query, or some of them.
type terms struct {
	legs        []Leg
	stride      int // terms of each segment
	first, end  int // those that are meant
	conjunctive bool
}

// terms returns all of a query's.
func (q *Query) terms() terms {
	return terms{q.Legs, q.NumTerms, 0, q.NumTerms, q.Conjunctive}
}

// len returns the number of terms that are meant.
func (t *terms) len() int { return t.end - t.first }

// of returns the legs in a segment.
func (t *terms) of(segment int) []Leg {
	return t.legs[segment*t.stride+t.first : segment*t.stride+t.end]
}

// none reports whether nothing matches in a segment, since it lacks a term.
func (t *terms) none(segment int) bool { return t.conjunctive && lacksOne(t.of(segment)) }

// held is a compressed list that a run has pinned: on the device, or in page-locked
// memory, then with its directory on the device if that is there.
type held struct{ packed, host, directory *entry }

// unpin lets go of it.
func (h *held) unpin() {
	for _, e := range []*entry{h.packed, h.host, h.directory} {
		if e != nil {
			e.unpin()
		}
	}
}

// hold pins the compressed lists of a query, by segment, then term. Those that a device
// cannot read where they lie are copied to page-locked memory, or to the device if there
// is no room. The error is errNoRoom if there is none there either.
func (l *lane) hold(pieces []piece) error {
	t := &l.ask.terms
	for s := range pieces {
		p, legs := pieces[s].part, t.of(s)
		none := p == nil || t.none(s)
		for j := range legs {
			var h held
			if leg := &legs[j]; !none && leg.DocFreq > 0 {
				var err error
				if h, err = l.compressed(p, leg); err != nil {
					return err
				}
			}
			l.held = append(l.held, h)
		}
	}
	return nil
}

// release lets go of the compressed lists.
func (l *lane) release() {
	for i := range l.held {
		l.held[i].unpin()
		l.held[i] = held{}
	}
	l.held = l.held[:0]
}

// compressed returns a leg's compressed list, pinned.
func (l *lane) compressed(p *part, leg *Leg) (h held, err error) {
	d := l.d
	if known := d.records.ofLeg(leg, p.id); known != nil {
		if h.packed = known.pinned(kindPacked); h.packed != nil {
			l.counts.hit++
			l.counts.asked.Device++
			return h, nil
		}
		if h.host = known.pinned(kindHost); h.host != nil {
			l.counts.missed++
			l.counts.asked.Host++
			h.directory = known.pinned(kindDirectory)
			return h, nil
		}
	}
	began, before := time.Now(), l.uploader.bytes
	payload, directory := leg.List.Raw()
	if err := checkDirectory(len(payload), directory); err != nil {
		return h, err
	}
	l.counts.missed++
	l.counts.asked.File++
	if h.host = d.keep(leg.key(p.id).of(kindHost), payload, directory, always); h.host != nil {
		l.counts.locked += int64(len(h.host.packed.words)) * 4
	} else if h.packed, err = l.uploader.bringPacked(p, leg, always); err != nil {
		return h, err
	}
	l.counts.listBytes += l.uploader.bytes - before
	l.counts.bringing += time.Since(began)
	return h, nil
}

// keep returns the pinned copy of a list in page-locked memory, which it makes if there
// is none; nil: there is no room. Its directory was checked.
func (d *device) keep(k listKey, payload []byte, directory []postings.BlockEntry, a admission) *entry {
	c := d.host.cache
	if e := c.claim(k); e != nil {
		return e
	}
	defer c.unclaim(k)
	e := d.host.acquire(k, shapeOf(len(payload), len(directory)), a)
	if e == nil {
		return nil
	}
	filled := false
	defer func() {
		if !filled { // it panics
			c.abandon(e)
		}
	}()
	fillPacked(e.packed.words, d.host.bytes(e), payload, directory)
	filled = true
	c.publish(e)
	d.host.filled.Add(1)
	d.host.filledBytes.Add(int64(len(e.packed.words)) * 4)
	return e
}

// listOf makes what package direct is told of a held list.
func (l *lane) listOf(p *part, s *Segment, leg *Leg, h *held) (direct.List, error) {
	list := direct.List{
		DocFreq: leg.DocFreq, NumBlocks: uint32(leg.List.NumBlocks()),
		Score: leg.Term, Scale: leg.Scale, Max: leg.List.Max, Kth: leg.List.Kth,
	}
	if e := h.packed; e != nil {
		list.Payload, list.Directory = e.packed.payload, e.packed.directory
		if err := l.ready(e); err != nil {
			return list, err
		}
	} else {
		list.Payload, list.Directory, list.DirectoryOnHost = h.host.packed.payload, h.host.packed.directory, true
		if e := h.directory; e != nil {
			list.Directory, list.DirectoryOnHost = e.packed.directory, false
			if err := l.ready(e); err != nil {
				return list, err
			}
		}
	}
	if !leg.Term.Linear {
		lengths, err := l.uploader.lengths(p, s, leg.Field)
		if err != nil {
			return list, err
		}
		list.Lengths = lengths.Ptr()
	}
	return list, nil
}

// ready makes the stream wait for an entry that is on its way.
func (l *lane) ready(e *entry) error {
	if e.loaded.Load() {
		return nil
	}
	return l.await(e)
}
