package experiments

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/lab"
)

// This file is what the experiments of ao11 share: the data sets, samples of their
// lists, and the codecs of the paper.

// ao11Sets are the paper's data sets and what stands for them.
var ao11Sets = []struct {
	name string
	spec lab.Spec // without Like: there is none
}{
	{"GOV", lab.Spec{Like: "gov", Order: collection.Crawl, Log: lab.TB06}},
	{"GOVPR", lab.Spec{Like: "gov", Order: collection.Rank, Log: lab.TB06}},
	{"GOVR", lab.Spec{Like: "gov", Order: collection.Random, Log: lab.TB06}},
	{name: "BD"},
	{name: "BDR"},
}

const (
	ao11Ours = "Collections of 1,053,372 documents made of the wiki passages (`griffin lab generate --like gov`) " +
		"in the order of a crawl (GOV), by rank (GOVPR) and shuffled (GOVR), with the terms of the 2006 log."
	ao11NoBaidu = "BD and BDR are Baidu's own collection, of which nothing but its size is published"
)

// ao11Names are the names of the data sets.
func ao11Names() []string {
	names := make([]string, len(ao11Sets))
	for i, s := range ao11Sets {
		names[i] = s.name
	}
	return names
}

// ao11Each calls f for each data set that there is, with its row.
func ao11Each(ctx context.Context, env *lab.Env, f func(row int, name string, c *lab.Collection, queries []lab.Query) error) error {
	for row, s := range ao11Sets {
		if s.spec.Like == "" {
			continue
		}
		c, queries, err := env.Generated(ctx, s.spec)
		if err != nil {
			return err
		}
		if err := f(row, s.name, c, queries); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// leaveBaidu leaves out the rows of the data sets that there are not.
func leaveBaidu(t *lab.Table) {
	for row, s := range ao11Sets {
		if s.spec.Like == "" {
			t.LeaveRow(row, ao11NoBaidu)
		}
	}
}

// termLength is a term and the length of its list.
type termLength struct {
	term string
	n    int
}

// byLength returns the terms of queries that the collection has, with rising
// length of their lists.
func byLength(c *lab.Collection, queries []lab.Query) ([]termLength, error) {
	var terms []termLength
	for _, t := range lab.DistinctTerms(queries) {
		n, err := c.DocFreq(t)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			terms = append(terms, termLength{t, n})
		}
	}
	slices.SortFunc(terms, func(a, b termLength) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.term, b.term))
	})
	return terms, nil
}

// sampleLists returns every so manieth list by length, so that they hold about
// maxPostings at the most and lists of all lengths are there as often as in the
// collection.
func sampleLists(c *lab.Collection, queries []lab.Query, maxPostings int) ([][]uint32, error) {
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	all := 0
	for _, t := range terms {
		all += t.n
	}
	step := max(1, (all+maxPostings-1)/maxPostings)
	var lists [][]uint32
	for i := step / 2; i < len(terms); i += step {
		docIDs, err := c.DocIDs(nil, terms[i].term)
		if err != nil {
			return nil, err
		}
		lists = append(lists, docIDs)
	}
	return lists, nil
}

// ao11Codecs are the paper's codecs with its lengths of segments, for any share of
// exceptions.
var ao11Codecs = []struct{ name, spec string }{
	{"PFD", "pfordelta:segment=64,exceptions=%g"},
	{"NewPFD", "newpfd:segment=64,exceptions=%g"},
	{"ParaPFD", "parapfor:segment=64,exceptions=%g"},
	{"LRC", "lrc:exceptions=%g"},
	{"LRCSeg", "lrcseg:exceptions=%g"},
	{"SegLRC", "seglrc:exceptions=%g"},
	{"HS256.LRC", "hs-lrc:exceptions=%g"},
}

// blockAuxiliary is what a directory holds of a block beside bounds, in bytes: a
// DocID, an offset and a width, as the tables of the lrc codecs hold of a segment.
const blockAuxiliary = 9

// encodedSize returns the bytes that lists take, with what is needed to find
// blocks in them.
func encodedSize(c codec.Codec, lists [][]uint32) int64 {
	var buf []byte
	whole, _ := c.(codec.ListCodec)
	size := int64(0)
	for _, l := range lists {
		if len(l) > codec.BlockLen && whole != nil {
			buf = whole.AppendList(buf[:0], l)
			size += int64(len(buf))
			continue
		}
		base := codec.NoBase
		for block := range slices.Chunk(l, codec.BlockLen) {
			buf, _ = c.AppendDocIDs(buf[:0], base, block)
			size += int64(len(buf)) + blockAuxiliary
			base = block[len(block)-1]
		}
	}
	return size
}
