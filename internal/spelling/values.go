package spelling

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
)

// Texts have no list of their values: these are read from the stored documents at the first use and kept in the
// memory for derived structures. A value has at most maxValueBytes, a snapshot maxValueDocs documents.
const (
	maxValueBytes = 512
	maxValueDocs  = 2_000_000
)

// storedValues are the values of a field in a segment, by folded text, then by bytes.
type storedValues struct{ values []storedValue }

type storedValue struct {
	folded, value string
	docs          []base.DocID // in the order of writing
}

var valuesKind = derived.NewKind[storedValues]("values of a text")

// CompleteStored is Complete for the values of a text, as they are stored. The error wraps base.ErrBadInput if the
// index stores none, or has too many documents.
func (d *Dictionary) CompleteStored(ctx context.Context, text string, o *CompleteOptions) ([]Completion, error) {
	if d.snapshot.NumDocs > maxValueDocs {
		return nil, fmt.Errorf("completion of a text in %d documents, more than %d: declare a keyword with its values: %w", d.snapshot.NumDocs, maxValueDocs, base.ErrBadInput)
	}
	return d.complete(text, o, func(number int, values map[string]*Completion) error {
		view := &d.snapshot.Segments[number]
		if !view.HasStored() {
			return fmt.Errorf("completion of a text: the index stores no text: declare a keyword with its values: %w", base.ErrBadInput)
		}
		c, err := d.completer(number, o)
		if err != nil {
			return err
		}
		table, err := valuesKind.Get(view.Derived.List(math.MaxUint64-uint64(d.field)), 0, func() (*storedValues, int64, error) {
			return d.readValues(ctx, view)
		})
		if err != nil {
			return err
		}
		return c.addStored(table, text, values)
	})
}

func (c *completer) addStored(table *storedValues, text string, values map[string]*Completion) error {
	rest := table.values
	folded := fold(text)
	a := automaton.NewBeginning(text, c.options.Edits, c.options.PrefixLength, !c.options.NoSwaps)
	if c.options.Edits == 0 {
		first, _ := slices.BinarySearchFunc(rest, folded, func(v storedValue, text string) int { return strings.Compare(v.folded, text) })
		rest = rest[first:]
	}
	for i := range rest {
		if c.options.Edits == 0 && !strings.HasPrefix(rest[i].folded, folded) {
			break
		}
		if c.options.Edits > 0 && !a.Match(rest[i].value) {
			continue
		}
		v := values[rest[i].value]
		if v == nil {
			v = &Completion{}
		}
		for _, doc := range rest[i].docs {
			if c.view.Live != nil && !c.view.Live.Has(int(doc)) {
				continue
			}
			if err := c.addDocument(v, doc); err != nil {
				return err
			}
		}
		if v.DocFreq > 0 {
			values[rest[i].value] = v
		}
	}
	return nil
}

// fold brings characters to lower case one by one.
func fold(text string) string { return strings.Map(unicode.ToLower, text) }

func (d *Dictionary) readValues(ctx context.Context, view *index.View) (*storedValues, int64, error) {
	docs := map[string][]base.DocID{}
	var stored segment.StoredDoc
	size := int64(0)
	for doc := range base.DocID(view.NumDocs()) {
		if doc%1024 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err := view.Stored(doc, &stored); err != nil {
			return nil, 0, err
		}
		stored.EachValue(d.names, func(value []byte) {
			if len(value) == 0 || len(value) > maxValueBytes {
				return
			}
			if had := docs[string(value)]; len(had) == 0 || had[len(had)-1] != doc {
				docs[string(value)] = append(had, doc)
				size += 4
			}
		})
	}
	table := &storedValues{}
	for value, of := range docs {
		folded := fold(value)
		if folded == value {
			folded = value // the same memory
		}
		table.values = append(table.values, storedValue{folded, value, of})
		size += int64(64 + 2*len(value))
	}
	base.Sort(table.values, func(x, y storedValue) int {
		return cmp.Or(strings.Compare(x.folded, y.folded), strings.Compare(x.value, y.value))
	})
	return table, size, nil
}
