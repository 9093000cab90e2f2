package index

import "github.com/griffin-search/griffin/internal/segment"

// A change of ignore_above or copy_to of a field is for later documents: the stored text of earlier ones does not
// give their posting lists any more. These are the first documents in the order of writing, in the index and therefore
// in each segment, and manifestSegment.Former counts them. Merges join lists, so they keep such documents, without
// the deleted ones.

// shape is as of mapping.Mapping.
func (o *Options) shape() uint64 {
	if o.Mapping == nil {
		return 0
	}
	return o.Mapping.Shape()
}

// markFormer marks the documents of all segments if the shape is another than before.
func (m *manifest) markFormer(before *Options) {
	if m.Options.shape() == before.shape() {
		return
	}
	for i := range m.Segments {
		m.Segments[i].Former = m.Segments[i].NumDocs
	}
}

// formerIn counts the documents of a view that have a former shape and are not in dropped; nil: none are dropped.
func formerIn(v *View, dropped *segment.Bitmap) (n int, err error) {
	switch {
	case v.former == 0:
		return 0, nil
	case v.former == v.NumDocs():
		return v.NumDocs() - dropped.Count(), nil
	}
	_, docs, err := v.Written()
	if err != nil {
		return 0, err
	}
	for i := range v.former {
		doc, err := v.written(docs, i)
		if err != nil {
			return 0, err
		}
		if !dropped.Has(int(doc)) {
			n++
		}
	}
	return n, nil
}

// changesShape reports whether all documents of the base have a former shape after the commit.
func (c *commit) changesShape() bool { return c.next.Options.shape() != c.base.Options.shape() }

// numFormer counts the documents that are left in the base's segments [from, to) and have a former shape.
func (c *commit) numFormer(from, to int) (total int, err error) {
	for i := from; i < to; i++ {
		if c.changesShape() {
			total += c.numLive[i]
			continue
		}
		n, err := formerIn(&c.base.Segments[i], c.dropped[i])
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// droppedOf returns the deleted documents; nil: none.
func droppedOf(v *View) *segment.Bitmap {
	if v.Live == nil {
		return nil
	}
	return v.Live.Complement()
}

// anyFormer reports whether a live document has a former shape.
func (s *Snapshot) anyFormer() (bool, error) {
	for i := range s.Segments {
		if n, err := formerIn(&s.Segments[i], droppedOf(&s.Segments[i])); n > 0 || err != nil {
			return true, err
		}
	}
	return false, nil
}
