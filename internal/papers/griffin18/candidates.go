package griffin18

import "slices"

// candidates are the intermediate result of a query in one segment, in host memory: documents that are
// in all lists already intersected, and the position of each in each list, from which scoring finds its frequencies.
type candidates struct {
	docIDs []uint32
	rows   [][]uint32 // by list, then candidate; rows in use have the length of docIDs
	lists  int        // rows in use
}

func (c *candidates) reset() { c.docIDs, c.lists = c.docIDs[:0], 0 }

// sizeBytes is the memory of the candidates.
func (c *candidates) sizeBytes() int64 {
	n := cap(c.docIDs)
	for _, row := range c.rows {
		n += cap(row)
	}
	return 4 * int64(n)
}

// room sets the number of candidates, and of lists, whose values the caller then sets.
func (c *candidates) room(n, lists int) {
	c.docIDs = slices.Grow(c.docIDs[:0], n)[:n]
	c.lists = 0
	for range lists {
		c.addRow()
	}
}

// addRow adds a row of undefined positions.
func (c *candidates) addRow() {
	if c.lists == len(c.rows) {
		c.rows = append(c.rows, nil)
	}
	n := len(c.docIDs)
	c.rows[c.lists] = slices.Grow(c.rows[c.lists][:0], n)[:n]
	c.lists++
}

// keep makes candidate i, at position at of the list of the last row, candidate k <= i.
func (c *candidates) keep(k, i, at int) {
	c.docIDs[k] = c.docIDs[i]
	last := c.lists - 1
	for _, row := range c.rows[:last] {
		row[k] = row[i]
	}
	c.rows[last][k] = uint32(at)
}

// cut drops all but the first n candidates.
func (c *candidates) cut(n int) {
	c.docIDs = c.docIDs[:n]
	for l := range c.rows[:c.lists] {
		c.rows[l] = c.rows[l][:n]
	}
}
