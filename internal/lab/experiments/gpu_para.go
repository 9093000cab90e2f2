package experiments

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/decoders"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// paraWay is a method of ao11 on the GPU.
type paraWay struct {
	name        string
	search      intersect.Search
	contraction intersect.Contraction // without the Universe
	spec        string                // of the codec; "": uncompressed
	decoded     bool                  // the lists of a batch are decoded before the search
	parts       int                   // of a list, each with a safe range; 0: one range
	withoutH    bool                  // Algorithm 1 without the list H
}

// A list in hash buckets.
func hashed(size int) intersect.Contraction { return intersect.Contraction{BucketSize: size} }

// ao11's searches on the GPU, with the paper's names, and one of ours.
var paraWays = []paraWay{
	{name: "IS", search: intersect.InterpolationSearch},
	{name: "BS", search: intersect.BinarySearch},
	{name: "LR", search: intersect.LinearRegression, contraction: intersect.Contraction{Line: true}},
	{name: "HS256", search: intersect.HashSegmentation, contraction: hashed(256)},
	{name: "HS128", search: intersect.HashSegmentation, contraction: hashed(128)},
	{name: "HS64", search: intersect.HashSegmentation, contraction: hashed(64)},
	{name: "HS32", search: intersect.HashSegmentation, contraction: hashed(32)},
	{name: "HS16", search: intersect.HashSegmentation, contraction: hashed(16)},
	{name: bitmapsName, search: intersect.HashSegmentation, contraction: intersect.Contraction{BucketSize: 16, BitmapShare: 1.0 / 64}},
	{name: "ParaPFD (0.2)", search: intersect.BinarySearch, spec: "parapfor:segment=64,exceptions=0.2", decoded: true},
	{name: "ParaPFD (0.0)", search: intersect.BinarySearch, spec: "parapfor:segment=64,exceptions=0", decoded: true},
	{name: "NewPFD (0.2)", search: intersect.BinarySearch, spec: "newpfd:segment=64,exceptions=0.2", decoded: true},
	{name: "NewPFD (0.0)", search: intersect.BinarySearch, spec: "newpfd:segment=64,exceptions=0", decoded: true},
	{name: "LRC", search: intersect.LRC, spec: "lrc"},
	{name: "LRCSeg", search: intersect.LRCSeg, spec: "lrcseg"},
	{name: "SegLRC", search: intersect.SegLRC, spec: "seglrc"},
	{name: "HS256_LRC", search: intersect.HSLRC, spec: "hs-lrc"},
	{name: "HS128_LRC", search: intersect.HSLRC, spec: "hs-lrc:bucket=128"},
	{name: "LRC" + withoutHName, search: intersect.LRC, spec: "lrc", withoutH: true},
	{name: "LRCSeg" + withoutHName, search: intersect.LRCSeg, spec: "lrcseg", withoutH: true},
	{name: "SegLRC" + withoutHName, search: intersect.SegLRC, spec: "seglrc", withoutH: true},
	{name: "LR, g = 4", search: intersect.LinearRegression, parts: 4},
	{name: "LR, g = 16", search: intersect.LinearRegression, parts: 16},
	{name: "LR, g = 64", search: intersect.LinearRegression, parts: 64},
	{name: "LR, g = 256", search: intersect.LinearRegression, parts: 256},
}

const (
	bitmapsName  = "Griffin: HS16 and bitmaps"
	withoutHName = " without H"
)

func paraWayOf(name string) *paraWay {
	i := slices.IndexFunc(paraWays, func(w paraWay) bool { return w.name == name })
	return &paraWays[i]
}

func (w *paraWay) options(threshold int, countOnly bool) para.Options {
	return para.Options{Threshold: threshold, Search: w.search, Local: w.parts > 0, WithoutH: w.withoutH, CountOnly: countOnly}
}

// paraQueries are queries as numbers of their distinct lists, each from short to long.
type paraQueries struct {
	universe int
	lists    [][]uint32
	queries  [][]int
	answers  [][]uint32 // of the queries, from the CPU
}

func newParaQueries(ctx context.Context, asked [][][]uint32, universe int) (*paraQueries, error) {
	q := &paraQueries{universe: universe, answers: make([][]uint32, len(asked))}
	number := map[*uint32]int{}
	for _, lists := range asked {
		var numbers []int
		for _, docIDs := range lists {
			i, ok := number[&docIDs[0]]
			if !ok {
				i = len(q.lists)
				number[&docIDs[0]] = i
				q.lists = append(q.lists, docIDs)
			}
			numbers = append(numbers, i)
		}
		q.queries = append(q.queries, numbers)
	}
	return q, parallel(ctx, len(asked), func(i int) error {
		answer := slices.Clone(asked[i][0])
		for _, l := range asked[i][1:] {
			answer = intersection(answer, l)
		}
		q.answers[i] = slices.Clip(answer)
		return nil
	})
}

// found is the number of results of all queries.
func (q *paraQueries) found() int { return count(q.answers) }

// paraLists are the lists of queries in device memory for one method. The slices are by list.
type paraLists struct {
	deviceMemory
	way        *paraWay
	plain      []intersect.View
	compressed []intersect.CompressedView
	arrays     []para.Array

	// Of lists that are decoded.
	decoder *decode.Kernels
	codec   decode.Codec
	sources []decode.List
	table   cuda.Buffer[decode.List]
	used    []int // numbers of the lists of the current batch
	inUse   []bool
	pending []decode.List
}

func newParaLists(ctx context.Context, d *lab.Device, w *paraWay, q *paraQueries) (*paraLists, error) {
	l := &paraLists{deviceMemory: deviceMemory{device: d}, way: w}
	var err error
	switch {
	case w.decoded:
		err = l.loadDecoded(ctx, q)
	case w.spec != "":
		err = l.loadCompressed(ctx, q)
	case w.parts > 0:
		err = l.loadParts(q)
	default:
		err = l.loadPlain(q)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", w.name, err), l.free())
	}
	return l, nil
}

func (l *paraLists) loadPlain(q *paraQueries) error {
	c := l.way.contraction
	c.Universe = q.universe
	for _, docIDs := range q.lists {
		list, err := intersect.NewContracted(l.device.Stream, l.device.Device, docIDs, c)
		if err != nil {
			return err
		}
		l.frees = append(l.frees, list.Free)
		l.plain = append(l.plain, list.View())
	}
	return nil
}

func (l *paraLists) loadParts(q *paraQueries) error {
	for _, docIDs := range q.lists {
		a := para.Array{NumPostings: len(docIDs), PartLen: (len(docIDs) + l.way.parts - 1) / l.way.parts}
		var parts []para.Part
		for part := range slices.Chunk(docIDs, a.PartLen) {
			parts = append(parts, para.NewPart(part[0], contraction.NewSafeRange(part)))
		}
		var err error
		if a.DocIDs, err = upload(&l.deviceMemory, docIDs); err != nil {
			return err
		}
		if a.Parts, err = upload(&l.deviceMemory, parts); err != nil {
			return err
		}
		l.arrays = append(l.arrays, a)
	}
	return nil
}

func (l *paraLists) loadCompressed(ctx context.Context, q *paraQueries) error {
	found, err := codec.Lookup(l.way.spec)
	if err != nil {
		return err
	}
	c := found.(codec.Regression)
	encoded := make([][]byte, len(q.lists))
	if err := parallel(ctx, len(q.lists), func(i int) error {
		encoded[i] = c.AppendList(nil, q.lists[i])
		return nil
	}); err != nil {
		return err
	}
	for i, bytes := range encoded {
		list, err := intersect.NewCompressed(l.device.Stream, l.device.Device, c, bytes, len(q.lists[i]))
		if err != nil {
			return err
		}
		l.frees = append(l.frees, list.Free)
		l.compressed = append(l.compressed, list.View())
	}
	return nil
}

// loadDecoded copies the encoded lists, and gives each a place for its DocIDs.
func (l *paraLists) loadDecoded(ctx context.Context, q *paraQueries) error {
	c, err := codec.Lookup(l.way.spec)
	if err != nil {
		return err
	}
	var ok bool
	if l.codec, ok = decoders.CodecOf(c); !ok {
		return errors.New("the device does not decode it")
	}
	encoded := make([]*coded, len(q.lists))
	if err := parallel(ctx, len(q.lists), func(i int) error {
		encoded[i] = encode(c, q.lists[i])
		return nil
	}); err != nil {
		return err
	}
	l.decoder = decode.New(l.device.Device)
	l.frees = append(l.frees, l.decoder.Close)
	for i, e := range encoded {
		source := decode.Source{NumPostings: e.n}
		if source.Payload, err = upload(&l.deviceMemory, wordsOf(e.data)); err != nil {
			return err
		}
		if source.Directory, err = upload(&l.deviceMemory, blockDirectory(e, q.lists[i])); err != nil {
			return err
		}
		out, err := room[uint32](&l.deviceMemory, codec.BlockLen*source.NumBlocks())
		if err != nil {
			return err
		}
		list, err := decode.NewList(source, cuda.Buffer[uint32]{} /* all blocks */, out)
		if err != nil {
			return err
		}
		l.sources = append(l.sources, list)
		l.arrays = append(l.arrays, para.Array{DocIDs: out, NumPostings: e.n})
	}
	l.inUse = make([]bool, len(q.lists))
	l.table, err = room[decode.List](&l.deviceMemory, len(q.lists))
	return err
}

// wordsOf returns bytes as little-endian words.
func wordsOf(data []byte) []uint32 {
	padded := append(slices.Clone(data), make([]byte, 3)...)
	words := make([]uint32, (len(data)+3)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(padded[4*i:])
	}
	return words
}

// add adds a query to a batch.
func (l *paraLists) add(b *para.Batch, query []int) error {
	switch {
	case l.compressed != nil:
		return b.AddCompressed(listsAt(l.compressed, query)...)
	case l.arrays != nil:
		if l.way.decoded {
			for _, i := range query {
				if !l.inUse[i] {
					l.inUse[i] = true
					l.used = append(l.used, i)
				}
			}
		}
		return b.AddArrays(listsAt(l.arrays, query)...)
	}
	return b.Add(listsAt(l.plain, query)...)
}

func listsAt[T any](all []T, numbers []int) []T {
	lists := make([]T, len(numbers))
	for i, n := range numbers {
		lists[i] = all[n]
	}
	return lists
}

// run answers a batch. Lists that are decoded are decoded once for the batch, completely.
func (l *paraLists) run(b *para.Batch) error {
	if l.way.decoded {
		l.pending = l.pending[:0]
		for _, i := range l.used {
			l.pending = append(l.pending, l.sources[i])
			l.inUse[i] = false
		}
		l.used = l.used[:0]
		shape := decode.Plan(l.pending)
		table := l.table.Slice(0, len(l.pending))
		if err := cuda.CopyToDevice(l.device.Stream, table, l.pending); err != nil {
			return err
		}
		if err := l.decoder.Decode(l.device.Stream, l.codec, decode.DocIDs, table, shape); err != nil {
			return err
		}
	}
	return b.Run(l.device.Stream)
}

// askedOf returns the lists of at most n queries with 2 or more terms, each
// from short to long.
func askedOf(c *lab.Collection, queries []lab.Query, n int) ([][][]uint32, error) {
	var several []lab.Query
	for _, q := range queries {
		if len(q.Terms) > 1 {
			several = append(several, q)
		}
	}
	lists := listCache{c: c, lists: map[string][]uint32{}}
	var asked [][][]uint32
	for _, q := range spread(several, n) {
		l, err := lists.ofQuery(q)
		if err != nil {
			return nil, err
		}
		asked = append(asked, l)
	}
	return asked, nil
}
