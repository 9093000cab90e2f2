package experiments

import (
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/lab"
)

// Shared by the experiments of ao11: rows of tables, and the paper's codecs.

const ao11Ours = "Collections of 1,053,372 documents generated from the wiki passages (`griffin lab generate --like gov`) " +
	"in crawl order (GOV), by rank (GOVPR) and shuffled (GOVR), and of 5,038,710 (GOV2, GOV2R), " +
	"with the terms of all queries of the 2006 log. The record below has their numbers of documents and postings."

// Orders of GOV in ao11Collections.
const ao11GOVs = 3

func ao11Names() []string {
	var names []string
	for _, c := range ao11Collections {
		names = append(names, c.name)
	}
	return append(names, "BD", "BDR")
}

// ao11Rows calls f for each of the first n of ao11Collections, with its row in
// t, and omits Baidu's rows.
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

// The paper's codecs with its segment lengths, for any share of exceptions.
// ao11Patched is the first of ao11Codecs that is built on a line.
const ao11Patched = 3

var ao11Codecs = []struct{ name, spec string }{
	{"PFD", "pfordelta:segment=64,exceptions=%g"},
	{"NewPFD", "newpfd:segment=64,exceptions=%g"},
	{"ParaPFD", "parapfor:segment=64,exceptions=%g"},
	{"LRC", "lrc:exceptions=%g"},
	{"LRCSeg", "lrcseg:exceptions=%g"},
	{"SegLRC", "seglrc:exceptions=%g"},
	{"HS256.LRC", "hs-lrc:exceptions=%g"},
}

// blockAuxiliary is the size of a block's directory entry without bounds: a
// DocID, an offset and a width, as in the segment tables of the lrc codecs.
const blockAuxiliary = 9

// encodedSize is in bytes, including the data that locates blocks.
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
