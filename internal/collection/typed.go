package collection

import (
	"bytes"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
)

// Typed fields of a generated collection (Options.Typed). They do not depend on the words, except that
// FieldDay follows the order of the documents, so that a range of days is a part of the segment.
const (
	// FieldKind is a keyword without posting lists, one of NumKinds values. The nth value has about 1/n of the
	// frequency of the first.
	FieldKind = "kind"
	NumKinds  = 1000
	// FieldDay is a date. The documents in their order are of 20 years, give or take 30 days.
	FieldDay = "day"
	// FieldNumber is a number from 0 to 999, uniformly distributed.
	FieldNumber = "number"
)

const typedMapping = `{"dynamic":"false","properties":{"` + FieldKind + `":{"type":"keyword","index":false},
	"` + FieldDay + `":{"type":"date"},"` + FieldNumber + `":{"type":"long"}}}`

var (
	firstDay = time.Date(2004, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
)

func newTypedMapping() *mapping.Mapping {
	m, err := mapping.Parse([]byte(typedMapping))
	if err != nil {
		panic(err)
	}
	return m
}

// typedSource is a source whose documents have values.
type typedSource struct {
	*source
	columns *column.Set
}

var (
	_ segment.Source   = (*typedSource)(nil)
	_ segment.Columned = (*typedSource)(nil)
)

func (s *typedSource) Columns() (*column.Set, error) { return s.columns, nil }

// addColumns draws the values of each document, which depend on the seed and its number only.
func addColumns(s *source, seed uint64) (*typedSource, error) {
	numDocs := s.NumDocs()
	var out bytes.Buffer
	w := column.NewWriter(&out, numDocs, column.Temp{})
	if err := addDays(w, numDocs, seed); err != nil {
		return nil, err
	}
	if err := addKinds(w, numDocs, seed); err != nil {
		return nil, err
	}
	numbers, err := w.Numbers(FieldNumber)
	if err != nil {
		return nil, err
	}
	for d := range numDocs {
		rng := newStream(seed, streamNumber, uint64(d))
		if err := numbers.Add(base.DocID(d), []int64{int64(rng.below(1000))}); err != nil {
			return nil, err
		}
	}
	if err := numbers.Close(); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	set, err := column.Open(column.Memory(out.Bytes()), numDocs)
	return &typedSource{s, set}, err
}

func addDays(w *column.Writer, numDocs int, seed uint64) error {
	days, err := w.Numbers(FieldDay)
	if err != nil {
		return err
	}
	const day = int64(24 * time.Hour / time.Millisecond)
	span := lastDay.Sub(firstDay).Milliseconds()
	for d := range numDocs {
		rng := newStream(seed, streamDay, uint64(d))
		at := firstDay.UnixMilli() + int64(float64(span)*float64(d)/float64(numDocs)) + int64(rng.below(61)-30)*day
		if err := days.Add(base.DocID(d), []int64{at / day * day}); err != nil {
			return err
		}
	}
	return days.Close()
}

func addKinds(w *column.Writer, numDocs int, seed uint64) error {
	kinds, err := w.Ordinals(FieldKind)
	if err != nil {
		return err
	}
	var names [NumKinds][]byte
	var upTo [NumKinds]float64
	sum := 0.0
	for i := range names {
		names[i] = fmt.Appendf(nil, "kind%03d", i)
		sum += 1 / float64(i+1)
		upTo[i] = sum
	}
	var quantiles [1 << 16]uint16
	at := 0
	for i := range quantiles {
		for at < NumKinds-1 && upTo[at] < (float64(i)+0.5)/float64(len(quantiles))*sum {
			at++
		}
		quantiles[i] = uint16(at)
	}
	value := make([][]byte, 1)
	for d := range numDocs {
		rng := newStream(seed, streamKind, uint64(d))
		value[0] = names[quantiles[rng.next()>>48]]
		if err := kinds.Add(base.DocID(d), value); err != nil {
			return err
		}
	}
	return kinds.Close()
}
