package decode_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

const canary = 0xA5A5A5A5

type hostList struct {
	name      string
	payload   []byte // padded with zero bytes to a multiple of 4
	directory []uint32
	freqBytes int // of the payload
	n         int
	whole     codec.ListCodec // the codec, if it encodes all DocIDs as one sequence
	selected  []uint32        // nil: all blocks
	want      [3][]uint32     // by What: 128 words per block, canaries behind the last value
}

// base is the DocID before the first block.
func (l *hostList) put(c codec.Codec, base uint32, docIDs, freqs []uint32) {
	if len(docIDs) > codec.BlockLen {
		l.whole, _ = c.(codec.ListCodec)
	}
	if l.whole != nil {
		l.payload = l.whole.AppendList(l.payload, docIDs)
	}
	for from := 0; from < len(docIDs); from += codec.BlockLen {
		to := min(from+codec.BlockLen, len(docIDs))
		at, docWidth, freqWidth := uint32(len(l.payload)), uint8(0), uint8(0)
		if l.whole == nil {
			l.payload, docWidth = c.AppendDocIDs(l.payload, base, docIDs[from:to])
		}
		freqsAt := len(l.payload)
		l.payload, freqWidth = c.AppendFreqs(l.payload, freqs[from:to])
		l.freqBytes += len(l.payload) - freqsAt
		bound := uint32(0xBEEF)
		l.directory = append(l.directory, docIDs[from], docIDs[to-1], at, bound|uint32(docWidth)<<16|uint32(freqWidth)<<24)
		l.want[decode.DocIDs] = append(l.want[decode.DocIDs], docIDs[from:to]...)
		l.want[decode.Freqs] = append(l.want[decode.Freqs], freqs[from:to]...)
		for _, d := range docIDs[from:to] {
			l.want[decode.Gaps] = append(l.want[decode.Gaps], d-base)
			base = d
		}
	}
	for w := range l.want {
		for len(l.want[w])%codec.BlockLen != 0 {
			l.want[w] = append(l.want[w], canary)
		}
	}
}

func (l *hostList) finish() *hostList {
	l.payload = append(l.payload, make([]byte, -len(l.payload)&3)...)
	if len(l.payload) == 0 {
		l.payload = make([]byte, 4)
	}
	return l
}

func newHostList(c codec.Codec, name string, docIDs, freqs []uint32) *hostList {
	l := &hostList{name: name, n: len(docIDs)}
	l.put(c, codec.NoBase, docIDs, freqs)
	return l.finish()
}

// newBlockList encodes one block as the second of a list whose first block is
// only a directory entry, or as the first if b has no base.
func newBlockList(c codec.Codec, b codectest.Block) *hostList {
	l := &hostList{name: b.Name, n: len(b.DocIDs)}
	if b.Base != codec.NoBase {
		l.directory = []uint32{0, b.Base, 0, 0}
		l.n += codec.BlockLen
		l.selected = []uint32{1}
	}
	l.put(c, b.Base, b.DocIDs, b.Freqs)
	return l.finish()
}

func (l *hostList) chosen(blocks []uint32) *hostList {
	out := *l
	out.name += fmt.Sprintf("/blocks=%v", blocks)
	out.selected = blocks
	for w := range out.want {
		out.want[w] = nil
		for _, b := range blocks {
			out.want[w] = append(out.want[w], l.want[w][b*codec.BlockLen:][:codec.BlockLen]...)
		}
	}
	return &out
}

type rig struct {
	*gputest.Session
	kernels *decode.Kernels
	tile    int // blocks per tile; 0: the default
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{Session: gputest.NewSession(t)}
	r.kernels = decode.New(r.Device)
	t.Cleanup(func() { r.Must(r.kernels.Close()) })
	return r
}

type deviceLists struct {
	lists  []decode.List
	levels [][]decode.RecArray // of pfordelta-rec
	out    cuda.Buffer[uint32]
	blocks []int // per list
}

// upload copies all payloads to one buffer, all directories to another.
func (r *rig) upload(lists []*hostList) *deviceLists {
	r.Helper()
	var payload, directory, selected []uint32
	var payloadAt, directoryAt, selectedAt []int
	d := &deviceLists{}
	total := 0
	for _, l := range lists {
		payload = append(payload, make([]uint32, -len(payload)&3)...)
		payloadAt, directoryAt, selectedAt = append(payloadAt, len(payload)), append(directoryAt, len(directory)), append(selectedAt, len(selected))
		for i := 0; i < len(l.payload); i += 4 {
			payload = append(payload, binary.LittleEndian.Uint32(l.payload[i:]))
		}
		directory = append(directory, l.directory...)
		selected = append(selected, l.selected...)
		d.blocks = append(d.blocks, len(l.want[0])/codec.BlockLen)
		total += len(l.want[0])
	}
	p, dir, sel := gputest.Upload(r.Session, payload), gputest.Upload(r.Session, directory), gputest.Upload(r.Session, append(selected, 0))
	d.out = gputest.Alloc[uint32](r.Session, total)
	at := 0
	for i, l := range lists {
		words := len(l.payload) / 4
		s := decode.Source{
			Payload:     p.Slice(payloadAt[i], payloadAt[i]+words),
			Directory:   dir.Slice(directoryAt[i], directoryAt[i]+len(l.directory)),
			NumPostings: l.n,
		}
		r.side(d, l, &s)
		var chosen cuda.Buffer[uint32]
		if l.selected != nil {
			chosen = sel.Slice(selectedAt[i], selectedAt[i]+len(l.selected))
		}
		size := d.blocks[i] * codec.BlockLen
		list, err := decode.NewList(s, chosen, d.out.Slice(at, at+size))
		r.Must(err)
		d.lists = append(d.lists, list)
		at += size
	}
	return d
}

func (r *rig) check(c codec.Codec, lists []*hostList) {
	r.Helper()
	on, ok := decode.CodecOf(c)
	if !ok {
		r.Fatalf("%s: not decoded on the device", c.Name())
	}
	d := r.upload(lists)
	for _, level := range d.levels {
		b := decode.PlanArrays(level)
		r.Must(r.kernels.DecodeArrays(r.Stream, gputest.Upload(r.Session, level), b))
	}
	batch := decode.PlanTiles(d.lists, cmp.Or(r.tile, 8))
	onDevice := gputest.Upload(r.Session, d.lists)
	got := make([]uint32, d.out.Len())
	for w := range decode.Freqs + 1 {
		r.Must(cuda.FillWords(r.Stream, d.out, canary))
		r.Must(r.kernels.Decode(r.Stream, on, w, onDevice, batch))
		r.Must(cuda.CopyToHost(r.Stream, got, d.out))
		r.Must(r.Stream.Synchronize())
		rest := got
		for i, l := range lists {
			compare(r, c, l, w, rest[:d.blocks[i]*codec.BlockLen])
			rest = rest[d.blocks[i]*codec.BlockLen:]
		}
	}
	// A single list uses another kernel.
	last := len(lists) - 1
	out := d.out.Slice(d.out.Len()-d.blocks[last]*codec.BlockLen, d.out.Len())
	for w := range decode.Freqs + 1 {
		r.Must(cuda.FillWords(r.Stream, out, canary))
		r.Must(r.kernels.DecodeList(r.Stream, on, w, d.lists[last]))
		r.Must(cuda.CopyToHost(r.Stream, got[:out.Len()], out))
		r.Must(r.Stream.Synchronize())
		compare(r, c, lists[last], w, got[:out.Len()])
	}
}

func compare(t testing.TB, c codec.Codec, l *hostList, w decode.What, got []uint32) {
	t.Helper()
	want := l.want[w]
	if slices.Equal(got, want) {
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: %s: %v: value %d of block %d is %d (%#x), want %d", c.Name(), l.name, w, i%codec.BlockLen, i/codec.BlockLen, got[i], got[i], want[i])
		}
	}
}

// blockCodecs encode blocks independently.
func blockCodecs() []codec.Codec {
	return []codec.Codec{
		codec.Raw{},
		codec.SIMDBP{},
		codec.EF{},
		codec.ParaPFor{},
		codec.ParaPFor{Segment: 32, Exceptions: 0.3},
		codec.ParaPFor{Segment: 128},
		codec.PForDelta{},
		codec.PForDelta{Segment: 32},
		codec.PForDelta{Plain: true},
		codec.PForDelta{Segment: 64, Exceptions: 0.5},
		codec.PForDeltaRec{Depth: codec.NoRecursion},
		codec.PForDeltaRec{},
		codec.PForDeltaRec{Depth: 4, Exceptions: 0.5},
	}
}

// The conformance cases of codec.Codec: all widths, lengths and bases.
func TestBlocks(t *testing.T) {
	r := newRig(t)
	blocks := codectest.Blocks()
	for i, c := range blockCodecs() {
		var lists []*hostList
		for k, b := range blocks {
			if _, whole := c.(codec.ListCodec); whole && b.Base != codec.NoBase {
				continue // such codecs encode blocks of DocIDs only in lists of one block
			}
			// The main codecs run all cases; the others a quarter, and all full blocks.
			if _, main := map[string]bool{"simdbp": true, "ef": true}[c.Name()]; main || k%4 == i%4 || len(b.DocIDs) == codec.BlockLen {
				lists = append(lists, newBlockList(c, b))
			}
		}
		r.check(c, lists)
	}
}

func freqsFor(rng *rand.Rand, n int) []uint32 {
	freqs := make([]uint32, n)
	shape := rng.IntN(4)
	for i := range freqs {
		switch {
		case shape == 0:
			freqs[i] = 1
		case shape == 1 && rng.IntN(9) > 0:
			freqs[i] = 1
		case rng.IntN(20) == 0:
			freqs[i] = 1 + rng.Uint32N(3000)
		default:
			freqs[i] = 1 + rng.Uint32N(5)
		}
	}
	return freqs
}

func listCodecs() []codec.Codec {
	return []codec.Codec{
		codec.Raw{},
		codec.SIMDBP{},
		codec.EF{},
		codec.ParaPFor{},
		codec.PForDelta{},
		codec.PForDeltaRec{},
		codec.PForDeltaRec{Depth: codec.NoRecursion, Block: 128},
		codec.PForDeltaRec{Depth: 4, Exceptions: 0.5, Block: 1280},
	}
}

// The conformance cases of codec.ListCodec, with all and with some of their
// blocks.
func TestLists(t *testing.T) {
	r := newRig(t)
	for _, c := range listCodecs() {
		rng := rand.New(rand.NewPCG(5, 6))
		var lists []*hostList
		for _, l := range codectest.Lists() {
			whole := newHostList(c, l.Name, l.DocIDs, freqsFor(rng, len(l.DocIDs)))
			blocks := len(whole.want[0]) / codec.BlockLen
			some := make([]uint32, 1+rng.IntN(12))
			for i := range some {
				some[i] = rng.Uint32N(uint32(blocks))
			}
			lists = append(lists, whole, whole.chosen(some))
		}
		r.check(c, lists)
	}
}

func TestRandomLists(t *testing.T) {
	r := newRig(t)
	for i, c := range listCodecs() {
		r.tile = []int{1, 8, 6, 3, 7, 5, 2, 4}[i%8]
		rng := rand.New(rand.NewPCG(9, uint64(i)))
		var lists []*hostList
		for k := range 8 {
			n := 1 + rng.IntN(1<<(4+k))
			docIDs := make([]uint32, n)
			docID, spread := ^uint32(0), 1
			for j := range docIDs {
				if rng.IntN(50) == 0 {
					spread = rng.IntN(20)
				}
				docID += 1 + rng.Uint32N(1<<spread)
				docIDs[j] = docID
			}
			lists = append(lists, newHostList(c, fmt.Sprintf("random %d of %d", k, n), docIDs, freqsFor(rng, n)))
		}
		r.check(c, lists)
	}
}

// Random bytes under a plausible directory: no access may leave the list or the
// output. The emulator and compute-sanitizer report such accesses.
func TestDamagedLists(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(10, 11))
	for _, c := range blockCodecs() {
		on, _ := decode.CodecOf(c)
		for k := range 20 {
			l := &hostList{n: 1 + rng.IntN(3*codec.BlockLen), payload: make([]byte, 4*(1+rng.IntN(300)))}
			if k%4 == 0 { // full blocks, which kernels read without bounds checks
				l.n, l.payload = 4*codec.BlockLen, make([]byte, 4*(300+rng.IntN(100)))
			}
			for i := range l.payload {
				l.payload[i] = byte(rng.Uint32())
			}
			for i := 0; i < l.n; i += codec.BlockLen {
				docWidth, freqWidth := rng.Uint32N(33), rng.Uint32N(33) // valid for any codec
				if strings.HasPrefix(c.Name(), "p") {                   // with exceptions
					docWidth, freqWidth = docWidth%32+64, freqWidth%32+64
				}
				at := rng.Uint32N(uint32(len(l.payload)))
				if k%8 == 0 {
					at %= uint32(len(l.payload) - 4*288)
				}
				l.directory = append(l.directory, rng.Uint32(), rng.Uint32(), at, docWidth<<16|freqWidth<<24)
				l.want[0] = append(l.want[0], make([]uint32, codec.BlockLen)...)
			}
			d := r.upload([]*hostList{l}) // alone, so that its ends are the ends of the allocations
			batch := decode.PlanTiles(d.lists, 1+k%3)
			onDevice := gputest.Upload(r.Session, d.lists)
			for w := range decode.Freqs + 1 {
				r.Must(r.kernels.Decode(r.Stream, on, w, onDevice, batch))
				r.Must(r.Stream.Synchronize())
			}
		}
	}
}

func TestCodecOf(t *testing.T) {
	for _, name := range []string{"pef", "newpfd", "vbyte", "qmx", "ef:plain=1"} { // these are decoded on the host
		c, err := codec.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if on, ok := decode.CodecOf(c); ok {
			t.Errorf("%s is decoded as %v", name, on)
		}
	}
	for _, c := range blockCodecs() {
		if _, ok := decode.CodecOf(c); !ok {
			t.Errorf("%s is not decoded", c.Name())
		}
	}
}

func TestShapes(t *testing.T) {
	r := newRig(t)
	c, _ := decode.CodecOf(codec.SIMDBP{})
	payload, directory, out := gputest.Alloc[uint32](r.Session, 100), gputest.Alloc[uint32](r.Session, 2*decode.EntryWords), gputest.Alloc[uint32](r.Session, 2*codec.BlockLen+4)
	var all cuda.Buffer[uint32]
	for name, f := range map[string]func() (decode.List, error){
		"no postings": func() (decode.List, error) {
			return decode.NewList(decode.Source{Payload: payload, Directory: directory}, all, out)
		},
		"short directory": func() (decode.List, error) {
			return decode.NewList(decode.Source{Payload: payload, Directory: directory, NumPostings: 257}, all, out)
		},
		"no payload": func() (decode.List, error) {
			return decode.NewList(decode.Source{Directory: directory, NumPostings: 9}, all, out)
		},
		"short output": func() (decode.List, error) {
			return decode.NewList(decode.Source{Payload: payload, Directory: directory, NumPostings: 256}, all, out.Slice(0, 255))
		},
		"output not aligned": func() (decode.List, error) {
			return decode.NewList(decode.Source{Payload: payload, Directory: directory, NumPostings: 256}, all, out.Slice(1, out.Len()))
		},
		"payload not aligned": func() (decode.List, error) {
			return decode.NewList(decode.Source{Payload: payload.Slice(1, 100), Directory: directory, NumPostings: 256}, all, out)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := f(); !errors.Is(err, decode.ErrShape) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	if err := r.kernels.Decode(r.Stream, c, decode.DocIDs, cuda.Buffer[decode.List]{}, decode.Plan(make([]decode.List, 1))); !errors.Is(err, decode.ErrShape) {
		t.Errorf("a batch without a buffer: %v", err)
	}
	if err := r.kernels.Decode(r.Stream, c, decode.Freqs+1, cuda.Buffer[decode.List]{}, decode.Plan(nil)); !errors.Is(err, decode.ErrShape) {
		t.Errorf("an unknown kernel: %v", err)
	}
	if err := r.kernels.Decode(r.Stream, c, decode.DocIDs, cuda.Buffer[decode.List]{}, decode.Plan(nil)); err != nil {
		t.Errorf("no lists: %v", err)
	}
}

func TestAllocations(t *testing.T) {
	r := newRig(t)
	c, _ := decode.CodecOf(codec.SIMDBP{})
	d := r.upload([]*hostList{newHostList(codec.SIMDBP{}, "", []uint32{1, 5, 6}, []uint32{1, 2, 3})})
	batch := decode.Plan(d.lists)
	lists := gputest.Upload(r.Session, d.lists)
	r.Must(r.kernels.Prepare(c))
	if n := testing.AllocsPerRun(10, func() {
		r.Must(r.kernels.DecodeList(r.Stream, c, decode.DocIDs, d.lists[0]))
		r.Must(r.kernels.Decode(r.Stream, c, decode.Freqs, lists, batch))
	}); n != 0 && !sampletest.Race {
		t.Errorf("%v allocations for two launches", n)
	}
	r.Must(r.Stream.Synchronize())
}
