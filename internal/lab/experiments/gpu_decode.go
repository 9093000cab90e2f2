package experiments

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/decoders"
)

// Lists to be decoded in one launch, or in a few for recursive codecs.
type deviceLists struct {
	deviceMemory
	kernels *decode.Kernels
	codec   decode.Codec
	sources []decode.Source
	alone   []decode.List // for launches of single lists
	lists   cuda.Buffer[decode.List]
	batch   decode.Batch
	levels  []deviceLevel
	out     cuda.Buffer[uint32]
	at      []int // start of each list in out
	n       int   // total number of values
	patched bool  // exceptions of LRC are recovered concurrently
}

// Arrays of exceptions of one level of pfordelta-rec.
type deviceLevel struct {
	arrays cuda.Buffer[decode.RecArray]
	batch  decode.Batch
}

// blockDirectory has the format of package postings. Codecs of whole lists have
// no widths.
func blockDirectory(e *coded, docIDs []uint32) []uint32 {
	var directory []uint32
	for from := 0; from < e.n; from += codec.BlockLen {
		offset, width := uint32(0), uint8(0)
		if e.whole == nil {
			b := e.blocks[from/codec.BlockLen]
			offset, width = b.offset, b.width
		}
		directory = append(directory, docIDs[from], docIDs[min(from+codec.BlockLen, e.n)-1], offset, uint32(width)<<16)
	}
	return directory
}

// newDeviceLists encodes and copies lists, decodes them once, and checks the
// result.
func newDeviceLists(d *lab.Device, spec string, lists [][]uint32) (*deviceLists, error) {
	return openDeviceLists(d, spec, lists, false)
}

func openDeviceLists(d *lab.Device, spec string, lists [][]uint32, patched bool) (*deviceLists, error) {
	l := &deviceLists{deviceMemory: deviceMemory{device: d}, kernels: decode.New(d.Device), n: count(lists), patched: patched}
	l.frees = append(l.frees, l.kernels.Close)
	err := l.load(spec, lists)
	if err == nil {
		err = l.check(lists)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s on the device: %w", spec, err), l.free())
	}
	return l, nil
}

func (l *deviceLists) load(spec string, lists [][]uint32) error {
	c, err := codec.Lookup(spec)
	if err != nil {
		return err
	}
	if !l.codecOf(c) {
		return errors.New("the device does not decode it")
	}
	blocks := 0
	for _, docIDs := range lists {
		l.at = append(l.at, blocks*codec.BlockLen)
		blocks += (len(docIDs) + codec.BlockLen - 1) / codec.BlockLen
	}
	if l.out, err = room[uint32](&l.deviceMemory, blocks*codec.BlockLen); err != nil {
		return err
	}
	var onDevice []decode.List
	var levels [][]decode.RecArray
	for i, docIDs := range lists {
		source, arrays, err := l.source(c, docIDs)
		if err != nil {
			return err
		}
		for level, a := range arrays {
			if level == len(levels) {
				levels = append(levels, nil)
			}
			levels[level] = append(levels[level], a...)
		}
		list, err := decode.NewList(source, cuda.Buffer[uint32]{}, l.out.Slice(l.at[i], l.at[i]+source.NumBlocks()*codec.BlockLen))
		if err != nil {
			return err
		}
		l.sources = append(l.sources, source)
		onDevice = append(onDevice, list)
	}
	l.alone = slices.Clone(onDevice)
	l.batch = decode.Plan(onDevice)
	if l.lists, err = upload(&l.deviceMemory, onDevice); err != nil {
		return err
	}
	for _, arrays := range levels {
		level := deviceLevel{batch: decode.PlanArrays(arrays)}
		if level.arrays, err = upload(&l.deviceMemory, arrays); err != nil {
			return err
		}
		l.levels = append(l.levels, level)
	}
	return nil
}

// codecOf sets the decoder, and reports whether there is one.
func (l *deviceLists) codecOf(c codec.Codec) (ok bool) {
	if r, is := c.(codec.Regression); is && l.patched {
		l.codec = decoders.Patched(r)
		return true
	}
	l.codec, ok = decoders.CodecOf(c)
	return ok
}

// source copies one list, and returns the arrays of its exceptions, by level,
// if the codec is recursive.
func (l *deviceLists) source(c codec.Codec, docIDs []uint32) (decode.Source, [][]decode.RecArray, error) {
	e := encode(c, docIDs)
	words := make([]uint32, (len(e.data)+3)/4)
	padded := append(slices.Clone(e.data), make([]byte, 4)...)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(padded[4*i:])
	}
	source := decode.Source{NumPostings: len(docIDs)}
	var err error
	if source.Payload, err = upload(&l.deviceMemory, words); err != nil {
		return source, nil, err
	}
	if source.Directory, err = upload(&l.deviceMemory, blockDirectory(e, docIDs)); err != nil {
		return source, nil, err
	}
	if _, recursive := c.(codec.PForDeltaRec); !recursive || e.whole == nil {
		return source, nil, nil
	}
	n, err := decode.RecScratch(e.data, e.n)
	if err != nil {
		return source, nil, err
	}
	scratch, err := room[uint32](&l.deviceMemory, n)
	if err != nil {
		return source, nil, err
	}
	arrays, err := decode.NewRecArrays(e.data, source, scratch)
	if err != nil {
		return source, nil, err
	}
	source.Side, err = upload(&l.deviceMemory, arrays.List.Words())
	return source, arrays.Levels, err
}

func (l *deviceLists) decode(what decode.What) error {
	for _, level := range l.levels {
		if err := l.kernels.DecodeArrays(l.device.Stream, level.arrays, level.batch); err != nil {
			return err
		}
	}
	return l.kernels.Decode(l.device.Stream, l.codec, what, l.lists, l.batch)
}

// decodeEach uses a launch for each list.
func (l *deviceLists) decodeEach(what decode.What) error {
	for i := range l.alone {
		if err := l.kernels.DecodeList(l.device.Stream, l.codec, what, l.alone[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *deviceLists) check(lists [][]uint32) error {
	if err := l.decode(decode.DocIDs); err != nil {
		return err
	}
	got, err := download(&l.deviceMemory, l.out)
	if err != nil {
		return err
	}
	for i, want := range lists {
		if !slices.Equal(got[l.at[i]:][:len(want)], want) {
			return fmt.Errorf("list of %d decodes to wrong values", len(want))
		}
	}
	return nil
}

// timeDecoding returns the device time to decode all lists, repeatedly if they
// are short.
func (l *deviceLists) timeDecoding(ctx context.Context, env *lab.Env, what decode.What) (lab.Timing, int, error) {
	repeat := lab.Pick(env, max(1, 20_000_000/max(1, l.n)), 1)
	repeat = min(repeat, 200)
	t, err := l.device.Time(ctx, lab.Pick(env, 5, 1), repeat, func() error { return l.decode(what) })
	return t, repeat, err
}

// In values per second.
func decodeSpeed(ctx context.Context, env *lab.Env, d *lab.Device, spec string, what decode.What, lists [][]uint32) (speed float64, err error) {
	return speedOf(ctx, env, what, func() (*deviceLists, error) { return newDeviceLists(d, spec, lists) })
}

// patchedSpeed is decodeSpeed to DocIDs with the papers' patch of exceptions.
func patchedSpeed(ctx context.Context, env *lab.Env, d *lab.Device, spec string, lists [][]uint32) (speed float64, err error) {
	return speedOf(ctx, env, decode.DocIDs, func() (*deviceLists, error) { return openDeviceLists(d, spec, lists, true) })
}

func speedOf(ctx context.Context, env *lab.Env, what decode.What, open func() (*deviceLists, error)) (speed float64, err error) {
	l, err := open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.free()) }()
	t, repeat, err := l.timeDecoding(ctx, env, what)
	return t.PerSecond(repeat * l.n), err
}
