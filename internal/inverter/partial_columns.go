package inverter

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// columns are the values of a partial index by field, encoded as in a segment, in memory or in a
// temporary file of their own, which is mapped.
type columns struct {
	payload []byte // nil: none, or in the file
	name    string // of the file; "": none
	size    int64  // of the payload
	mapping *vfs.Mapping
	set     *column.Set
}

// encode encodes the values of an inverter with documents.
func (c *columns) encode(v *inverter) error {
	t := &v.typed
	if t.mapping == nil {
		return nil
	}
	var places []int
	for i := range t.columns {
		if len(t.columns[i].docs) > 0 {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return nil
	}
	fields := t.mapping.Fields()
	slices.SortFunc(places, func(a, b int) int { return bytes.Compare([]byte(fields[a].Name), []byte(fields[b].Name)) })
	var out bytes.Buffer
	w := column.NewWriter(&out, v.numDocs(), column.Temp{})
	for _, i := range places {
		table := &t.columns[i].table
		if id := t.ids[i]; id != 0 {
			table = &v.fields[id].table
		}
		if err := t.columns[i].write(w, fields[i].Name, table); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.payload, c.size = out.Bytes(), int64(out.Len())
	return nil
}

// write writes a column, document by document.
func (c *columnInverter) write(w *column.Writer, name string, table *termTable) error {
	if c.kind == numberColumn {
		n, err := w.Numbers(name)
		if err != nil {
			return err
		}
		err = c.eachDoc(func(doc base.DocID, from, to int) error { return n.Add(doc, c.values[from:to]) })
		if err != nil {
			return err
		}
		return n.Close()
	}
	o, err := w.Ordinals(name)
	if err != nil {
		return err
	}
	var terms [][]byte
	err = c.eachDoc(func(doc base.DocID, from, to int) error {
		terms = terms[:0]
		for _, n := range c.terms[from:to] {
			terms = append(terms, table.term(n))
		}
		return o.Add(doc, terms)
	})
	if err != nil {
		return err
	}
	return o.Close()
}

// eachDoc calls f for each document with values, and their places.
func (c *columnInverter) eachDoc(f func(doc base.DocID, from, to int) error) error {
	for from := 0; from < len(c.docs); {
		to := from + 1
		for to < len(c.docs) && c.docs[to] == c.docs[from] {
			to++
		}
		if err := f(base.DocID(c.docs[from]), from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// spill moves the payload to a file.
func (c *columns) spill(fs vfs.FS, name string) error {
	if c.payload == nil {
		return nil
	}
	// A Set reads beyond the end.
	if err := vfs.WriteFile(fs, name, append(c.payload, make([]byte, column.Slack)...)); err != nil {
		return vfs.PathError("write", name, err)
	}
	c.payload, c.name = nil, name
	return nil
}

// open returns the values, nil for none.
func (c *columns) open(fs vfs.FS, numDocs int) (_ *column.Set, err error) {
	if c.set != nil || c.payload == nil && c.name == "" {
		return c.set, nil
	}
	data := column.Data(nil)
	if c.payload != nil {
		data = column.Memory(c.payload)
	} else {
		if c.mapping == nil {
			if c.mapping, err = fs.Map(c.name); err != nil {
				return nil, err
			}
		}
		if n := int64(len(c.mapping.Bytes())); n != c.size+column.Slack {
			return nil, fmt.Errorf("%s: %d bytes, want %d: %w", c.name, n, c.size+column.Slack, errPartial)
		}
		data = mappedColumns(c.mapping.Bytes()[:c.size])
	}
	c.set, err = column.Open(data, numDocs)
	return c.set, err
}

func (c *columns) close() error {
	if c.mapping == nil {
		return nil
	}
	m := c.mapping
	c.mapping, c.set = nil, nil
	return m.Close()
}

// mappedColumns is the payload of a mapped file.
type mappedColumns []byte

func (m mappedColumns) Bytes() []byte { return m }

func (m mappedColumns) Check(offset, length uint64) error {
	if n := uint64(len(m)); offset > n || length > n-offset {
		return fmt.Errorf("bytes %d+%d of %d: %w", offset, length, n, errPartial)
	}
	return nil
}

var _ segment.Columned = (*partial)(nil)

// Columns implements segment.Columned.
func (r *partial) Columns() (*column.Set, error) { return r.columns.open(r.fs, r.numDocs) }
