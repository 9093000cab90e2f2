package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// fstBuilder writes a finite state transducer from rising keys to numbers, in format 1 of vellum
// (github.com/blevesearch/vellum), whose Builder writes the same bytes. It takes a fifth of vellum's time: it
// keeps no copies of written states, but compares new states with the output.
//
// The algorithm: S. Mihov, D. Maurel, "Direct Construction of Minimal Acyclic Subsequential Transducers",
// CIAA 2000. We differ: as in vellum, a table of fixed size has the last states, so that few equal ones are
// written twice.
type fstBuilder struct {
	out   []byte
	last  []byte     // key
	path  []fstState // of last, by the length of the prefix
	count uint64
	end   uint64 // address of the last state
	table []fstCell
}

// fstState is a state of the path of the last key. The transition to the next state of the path is apart, because that
// has no address yet.
type fstState struct {
	final       bool
	finalOutput uint64
	transitions []fstTransition
	// Of the transition to the next state of the path.
	hasNext bool
	next    byte
	nextOut uint64
}

type fstTransition struct {
	out, addr uint64
	in        byte
}

// fstCell is a state that is written; address 0 is none.
type fstCell struct {
	hash uint64
	addr uint64
}

const (
	fstBuckets = 10_000 // of two cells, the last used one first
	fstHeader  = 16
	// The address of a final state without transitions and output, which is not written.
	fstEmpty = 0

	fstOne       = 1 << 7 // header byte: one transition, not final
	fstAdjacent  = 1 << 6 // of one transition: to the state written before, without output
	fstFinal     = 1 << 6 // of other states
	fstMaxCount  = 1<<6 - 1
	fstVersion   = 1
	fstMaxBranch = 256
)

// fstCommon are bytes whose number plus 1 stands in the header byte.
const fstCommon = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

var fstCommonCode = func() (codes [256]byte) {
	for i := range len(fstCommon) {
		codes[fstCommon[i]] = byte(strings.IndexByte(fstCommon, fstCommon[i]) + 1)
	}
	return codes
}()

func newFSTBuilder() *fstBuilder {
	b := &fstBuilder{table: make([]fstCell, 2*fstBuckets)}
	b.reset()
	return b
}

// reset begins another transducer. What finish returned is no longer valid.
func (b *fstBuilder) reset() {
	clear(b.table)
	b.out = binary.LittleEndian.AppendUint64(b.out[:0], fstVersion)
	b.out = binary.LittleEndian.AppendUint64(b.out, 0) // type
	b.last, b.path, b.count, b.end = b.last[:0], b.path[:0], 0, 1
	b.push()
}

func (b *fstBuilder) push() {
	n := len(b.path)
	if n == cap(b.path) {
		b.path = append(b.path, fstState{})
		return
	}
	b.path = b.path[:n+1]
	b.path[n] = fstState{transitions: b.path[n].transitions[:0]}
}

// insert adds a key, which is not empty. The error wraps base.ErrBadInput unless it is above the last one.
func (b *fstBuilder) insert(key []byte, value uint64) error {
	shared := 0
	for shared < min(len(key), len(b.last)) && key[shared] == b.last[shared] {
		shared++
	}
	if shared == len(key) || shared < len(b.last) && key[shared] < b.last[shared] {
		return fmt.Errorf("%q after %q: not in order: %w", key, b.last, base.ErrBadInput)
	}
	for i := range b.path[:shared] { // the common part of outputs moves towards the start
		s := &b.path[i]
		common := min(s.nextOut, value)
		rest := s.nextOut - common
		value -= common
		s.nextOut = common
		if rest != 0 {
			b.path[i+1].addOutput(rest)
		}
	}
	b.freeze(shared)
	b.last = append(b.last[:shared], key[shared:]...)
	for i := shared; i < len(key); i++ {
		s := &b.path[i]
		s.hasNext, s.next, s.nextOut = true, key[i], value
		value = 0
		b.push()
	}
	b.path[len(key)].final = true
	b.count++
	return nil
}

func (s *fstState) addOutput(n uint64) {
	if s.final {
		s.finalOutput += n
	}
	for i := range s.transitions {
		s.transitions[i].out += n
	}
	if s.hasNext {
		s.nextOut += n
	}
}

// freeze writes the states of the path after the one of a prefix.
func (b *fstBuilder) freeze(prefix int) {
	addr := uint64(fstEmpty)
	for i := len(b.path) - 1; ; i-- {
		s := &b.path[i]
		if s.hasNext {
			s.transitions = append(s.transitions, fstTransition{in: s.next, out: s.nextOut, addr: addr})
			s.hasNext, s.nextOut = false, 0
		}
		if i == prefix {
			b.path = b.path[:i+1]
			return
		}
		addr = b.write(s)
	}
}

// finish returns the transducer, valid until reset.
func (b *fstBuilder) finish() []byte {
	b.freeze(0)
	root := b.write(&b.path[0])
	b.out = binary.LittleEndian.AppendUint64(b.out, b.count)
	b.out = binary.LittleEndian.AppendUint64(b.out, root)
	return b.out
}

// write returns the address of a state, which it writes unless the table has it.
func (b *fstBuilder) write(s *fstState) uint64 {
	if s.final && len(s.transitions) == 0 && s.finalOutput == 0 {
		return fstEmpty
	}
	hash := s.hash()
	bucket := b.table[2*(hash%fstBuckets):][:2]
	if c := bucket[0]; c.hash == hash && c.addr != 0 && b.same(c.addr, s) {
		return c.addr
	}
	if c := bucket[1]; c.hash == hash && c.addr != 0 && b.same(c.addr, s) {
		bucket[0], bucket[1] = c, bucket[0]
		return c.addr
	}
	b.encode(s)
	b.end = uint64(len(b.out) - 1)
	bucket[0], bucket[1] = fstCell{hash, b.end}, bucket[0]
	return b.end
}

// hash is FNV-1a of numbers: it decides which equal states are found.
func (s *fstState) hash() uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	if s.final {
		h ^= 1
	}
	h = (h*prime ^ s.finalOutput) * prime
	for i := range s.transitions {
		t := &s.transitions[i]
		h = (h ^ uint64(t.in)) * prime
		h = (h ^ t.out) * prime
		h = (h ^ t.addr) * prime
	}
	return h
}

// A state is written from its end, where its address is, to its start:
//
//	one transition:  [output] distance sizes in? header     if the target is not adjacent
//	                 in? header                             if it is
//	others:          [final output] outputs distances ins sizes count? header
//
// Lists are in the reverse order of their transitions. A distance is from the start of the state to the address
// of the target, or 0 for fstEmpty. sizes has the bytes of a distance and of an output.
func (b *fstBuilder) encode(s *fstState) {
	if len(s.transitions) != 1 || s.final {
		b.encodeMany(s)
		return
	}
	t, start := &s.transitions[0], uint64(len(b.out))
	header := byte(fstOne | fstAdjacent)
	if t.out != 0 || t.addr != b.end {
		header = fstOne
		sizes := byte(0)
		if t.out != 0 {
			sizes = packedSize(t.out)
			b.pack(t.out, sizes)
		}
		d := distance(start, t.addr)
		b.pack(d, packedSize(d))
		b.out = append(b.out, packedSize(d)<<4|sizes)
	}
	code := fstCommonCode[t.in]
	if code == 0 {
		b.out = append(b.out, t.in)
	}
	b.out = append(b.out, header|code)
}

func (b *fstBuilder) encodeMany(s *fstState) {
	start := uint64(len(b.out))
	addrSize, outSize, all := byte(0), packedSize(s.finalOutput), s.finalOutput
	for i := range s.transitions {
		t := &s.transitions[i]
		addrSize = max(addrSize, packedSize(distance(start, t.addr)))
		outSize = max(outSize, packedSize(t.out))
		all |= t.out
	}
	if all == 0 {
		outSize = 0
	} else {
		if s.final {
			b.pack(s.finalOutput, outSize)
		}
		for i := len(s.transitions) - 1; i >= 0; i-- {
			b.pack(s.transitions[i].out, outSize)
		}
	}
	for i := len(s.transitions) - 1; i >= 0; i-- {
		b.pack(distance(start, s.transitions[i].addr), addrSize)
	}
	for i := len(s.transitions) - 1; i >= 0; i-- {
		b.out = append(b.out, s.transitions[i].in)
	}
	b.out = append(b.out, addrSize<<4|outSize)
	header := byte(0)
	switch n := len(s.transitions); {
	case n == fstMaxBranch:
		b.out = append(b.out, 1)
	case n == 0 || n > fstMaxCount:
		b.out = append(b.out, byte(n))
	default:
		header = byte(n)
	}
	if s.final {
		header |= fstFinal
	}
	b.out = append(b.out, header)
}

func distance(start, addr uint64) uint64 {
	if addr == fstEmpty {
		return 0
	}
	return start - addr
}

// packedSize is the number of bytes of a number, at least 1.
func packedSize(n uint64) byte { return byte(bits.Len64(n|1)+7) / 8 }

func (b *fstBuilder) pack(n uint64, size byte) {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], n)
	b.out = append(b.out, buf[:size]...)
}

func unpack(src []byte, at, size int) uint64 {
	n := uint64(0)
	for i := size - 1; i >= 0; i-- {
		n = n<<8 | uint64(src[at+i])
	}
	return n
}

// same reports whether a written state equals s.
func (b *fstBuilder) same(addr uint64, s *fstState) bool {
	at := int(addr)
	header := b.out[at]
	if header&fstOne == 0 {
		return b.sameMany(at, s)
	}
	if len(s.transitions) != 1 || s.final {
		return false
	}
	t := &s.transitions[0]
	in := header & fstMaxCount
	if in == 0 {
		at--
		in = b.out[at]
	} else {
		in = fstCommon[in-1]
	}
	if in != t.in {
		return false
	}
	if header&fstAdjacent != 0 {
		return t.out == 0 && t.addr == uint64(at-1)
	}
	at--
	addrSize, outSize := int(b.out[at]>>4), int(b.out[at]&15)
	at -= addrSize
	d := unpack(b.out, at, addrSize)
	at -= outSize
	return unpack(b.out, at, outSize) == t.out && d == distance(uint64(at), t.addr)
}

func (b *fstBuilder) sameMany(at int, s *fstState) bool {
	header := b.out[at]
	n := int(header & fstMaxCount)
	if n == 0 {
		at--
		if n = int(b.out[at]); n == 1 {
			n = fstMaxBranch
		}
	}
	if n != len(s.transitions) || header&fstFinal != 0 != s.final {
		return false
	}
	at--
	addrSize, outSize := int(b.out[at]>>4), int(b.out[at]&15)
	ins := at - n
	addrs := ins - n*addrSize
	outs := addrs - n*outSize
	start := outs
	if s.final {
		start -= outSize
	}
	if s.final && unpack(b.out, start, outSize) != s.finalOutput {
		return false
	}
	for i := range s.transitions {
		t, j := &s.transitions[i], n-1-i
		if b.out[ins+j] != t.in || unpack(b.out, outs+j*outSize, outSize) != t.out ||
			unpack(b.out, addrs+j*addrSize, addrSize) != distance(uint64(start), t.addr) {
			return false
		}
	}
	return true
}
