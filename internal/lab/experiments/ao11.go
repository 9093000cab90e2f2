package experiments

import (
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/lab"
)

// This file is what the experiments of ao11 share: rows of tables, and the
// codecs of the paper.

const ao11Ours = "Collections of 1,053,372 documents made of the wiki passages (`griffin lab generate --like gov`) " +
	"in the order of a crawl (GOV), by rank (GOVPR) and shuffled (GOVR), and of 5,038,710 (GOV2, GOV2R), " +
	"with the terms of all queries of the 2006 log."

// ao11GOVs is how many of ao11Collections are GOV in some order.
const ao11GOVs = 3

// ao11Names are the names of the paper's collections.
func ao11Names() []string {
	var names []string
	for _, c := range ao11Collections {
		names = append(names, c.name)
	}
	return append(names, "BD", "BDR")
}

// ao11Rows calls f for each of the first n of ao11Collections, with its row in t, and
// leaves the rows behind them out, which are Baidu's.
func ao11Rows(ctx context.Context, env *lab.Env, t *lab.Table, n int, f func(row int, name string, c *lab.Collection, queries []lab.Query) error) error {
	for row, of := range ao11Collections[:n] {
		env.Progress(of.name, row, n)
		c, queries, err := of.open(ctx, env)
		if err != nil {
			return err
		}
		if err := f(row, of.name, c, queries); err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
	}
	for row := n; row < len(t.Rows); row++ {
		t.LeaveRow(row, noBaidu)
	}
	return nil
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
