package plan

import (
	"context"
	"errors"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
)

// Reading a list and looking documents up in one end soon after the context.
func TestInListStops(t *testing.T) {
	const numDocs = 3 * pulsePeriod * codec.BlockLen
	list, lengths := make([]postingstest.Posting, numDocs), make([]uint32, numDocs)
	every := make([]uint64, numDocs/64)
	docs := make([]uint32, 3*lookUpLen)
	for i := range list {
		list[i], lengths[i] = postingstest.Posting{DocID: uint32(i), Freq: 1}, 1
		every[i/64] |= 1 << (i % 64)
	}
	for i := range docs {
		docs[i] = uint32(i * codec.BlockLen)
	}
	l := postingstest.Write(t, postings.Options{Codec: codec.SIMDBP{}, Saturation: score.Saturation{BM25: score.DefaultBM25, AvgLen: 1}}, lengths, codec.BlockLen, list).Open(t, 0)
	for name, run := range map[string]func(x narrower, out *output) error{
		"list, of a bitmap": func(x narrower, out *output) error { return x.selectFrom(out, &x.m.cursor, every) },
		"bitmap, of a bitmap": func(x narrower, out *output) error {
			out.words = make([]uint64, len(every))
			return x.selectFrom(out, &x.m.cursor, every)
		},
		"looked up": func(x narrower, out *output) error {
			return x.lookUp(&x.m.cursor, documents{docs: docs, count: len(docs)}, out.addAll)
		},
	} {
		for _, n := range []int{1, 3} {
			stop := &endsAfter{n: n}
			x := narrower{&matcher{stop: stop}}
			x.m.cursor.Reset(l, nil)
			var out output
			err := run(x, &out)
			read := x.m.cursor.Stats().BlocksDecoded
			if n == 1 && (!errors.Is(err, context.Canceled) || read == 0 || read > 2*pulsePeriod || stop.calls != 2) {
				t.Errorf("%s: %d blocks were read and the context looked at %d times: %v", name, read, stop.calls, err)
			}
			if n == 3 && (err != nil || out.count < len(docs) || read != 3*pulsePeriod || stop.calls != 3) {
				t.Errorf("%s: %d documents of %d blocks, the context looked at %d times: %v", name, out.count, read, stop.calls, err)
			}
		}
	}
}
