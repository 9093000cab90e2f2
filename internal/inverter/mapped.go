package inverter

import (
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Mapped returns the part of a mapping that a corpus needs, nil for none.
func Mapped(m *mapping.Mapping) *corpus.Mapped {
	if m == nil {
		return nil
	}
	c := &corpus.Mapped{Names: map[string]bool{}, Nulls: map[string]string{}, Whole: map[string]func([]byte) ([]string, error){}}
	for i := range m.Fields() {
		f := &m.Fields()[i]
		if f.Of != "" || f.Type == mapping.Object {
			continue
		}
		c.Names[f.Name] = true
		if f.NullValue != nil {
			c.Nulls[f.Name] = *f.NullValue
		}
		switch {
		case f.Type == mapping.GeoPoint:
			c.Whole[f.Name] = f.Points
		case f.Type.Vector():
			c.Whole[f.Name] = mapping.Vectors
		}
	}
	return c
}
