package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
)

// fstWalker returns the keys of a transducer that vellum accepts, in order: those from a start on that a filter matches. A
// key takes 88 ns, with vellum's iterator 835 (BenchmarkFSTWalk, 2-core EPYC), in which merges spent a sixth of their time.
// It panics if an address is outside of the data. Each path ends with a key or an error, so without a filter a call takes
// time for one key. A filter can leave paths before their keys: then visited bounds the states.
type fstWalker struct {
	data []byte
	path []fstPlace
	key  []byte
	// The next key is the one that the path has.
	pending      bool
	pendingValue uint64

	filter vellum.Automaton // nil: all keys
	// visited are the states of each depth that were reached, if there is a filter. Each of them has a key of its own.
	visited []uint64
	numKeys uint64
}

// fstPlace is a state of the path to the current key.
type fstPlace struct {
	n, taken int    // transitions
	last     byte   // input of the transition taken last
	value    uint64 // sum of the outputs before the state
	accepts  int    // state of the filter

	// Of one transition: its input, target and output.
	one bool
	in  byte
	to  int
	out uint64
	// Of others: offsets of the lists (fstBuilder.encode), whose elements have sizes.
	ins, addrs, outs, start int
	addrSize, outSize       int
}

const (
	fstFooter = 16 // number of keys, address of the root
	fstNone   = 1  // address of the root without keys
)

// reset starts before the first key of data that is not less than start and that a filter, if not nil, matches. numKeys
// is the number of all keys at most.
func (w *fstWalker) reset(data, start []byte, filter vellum.Automaton, numKeys uint64) error {
	w.data, w.path, w.key, w.pending = data, w.path[:0], w.key[:0], false
	w.filter, w.visited, w.numKeys = filter, w.visited[:0], numKeys
	root := binary.LittleEndian.Uint64(data[len(data)-8:])
	if root == fstNone {
		return nil
	}
	final, value, err := w.push(int(root), len(data)-fstFooter, 0)
	if err != nil {
		return err
	}
	if filter != nil {
		p := &w.path[0]
		p.accepts = filter.Start()
		final = final && filter.IsMatch(p.accepts)
	}
	for i, in := range start {
		if final, value, err = w.seek(in); err != nil || len(w.key) == i {
			return err
		}
	}
	w.pending, w.pendingValue = final, value
	return nil
}

// seek leaves the transitions with lower inputs behind, and takes the one with this input, if there is one that the filter
// accepts.
func (w *fstWalker) seek(input byte) (final bool, value uint64, err error) {
	p := &w.path[len(w.path)-1]
	for i := 1; i < p.n; i++ { // those after the input, too: else it could be among them
		if before, in := w.data[p.ins+p.n-i], w.data[p.ins+p.n-1-i]; in <= before {
			return false, 0, fmt.Errorf("input %d after %d: not in order: %w", in, before, base.ErrCorrupt)
		}
	}
	for p.taken < p.n {
		in, to, out, err := w.transition(p)
		if err != nil {
			return false, 0, err
		}
		if in > input {
			break
		}
		p.taken, p.last = p.taken+1, in
		if in == input {
			return w.follow(p, in, to, out)
		}
	}
	return false, 0, nil
}

// transition returns the next transition of a state.
func (w *fstWalker) transition(p *fstPlace) (in byte, to int, out uint64, err error) {
	in, to, out = p.in, p.to, p.out
	if !p.one {
		i := p.n - 1 - p.taken
		in, out = w.data[p.ins+i], unpack(w.data, p.outs+i*p.outSize, p.outSize)
		if to = int(unpack(w.data, p.addrs+i*p.addrSize, p.addrSize)); to != fstEmpty {
			to = p.start - to
		}
	}
	if p.taken > 0 && in <= p.last {
		err = fmt.Errorf("input %d after %d: not in order: %w", in, p.last, base.ErrCorrupt)
	}
	return in, to, out, err
}

// follow appends the state of a transition to the path, unless the filter leaves it out. It returns whether a key ends there
// that the filter matches.
func (w *fstWalker) follow(p *fstPlace, in byte, to int, out uint64) (final bool, value uint64, err error) {
	accepts := 0
	if w.filter != nil {
		if accepts = w.filter.Accept(p.accepts, in); !w.filter.CanMatch(accepts) {
			return false, 0, nil
		}
	}
	w.key = append(w.key, in)
	final, value, err = w.push(to, p.start, p.value+out)
	if err != nil || w.filter == nil {
		return final, value, err
	}
	depth := len(w.path) - 1
	w.path[depth].accepts = accepts
	for len(w.visited) <= depth {
		w.visited = append(w.visited, 0)
	}
	if w.visited[depth]++; w.visited[depth] > w.numKeys {
		return false, 0, fmt.Errorf("more than %d beginnings of %d bytes: %w", w.numKeys, depth, base.ErrCorrupt)
	}
	return final && w.filter.IsMatch(accepts), value, nil
}

// next moves to the next key, which is valid until the next call; ok is false at the end.
func (w *fstWalker) next() (key []byte, value uint64, ok bool, err error) {
	if w.pending {
		w.pending = false
		return w.key, w.pendingValue, true, nil
	}
	if w.filter != nil {
		return w.nextMatching()
	}
	for len(w.path) > 0 { // as nextMatching, without calls
		p := &w.path[len(w.path)-1]
		if p.taken == p.n {
			w.path = w.path[:len(w.path)-1]
			w.key = w.key[:max(len(w.key), 1)-1]
			continue
		}
		in, to, out := p.in, p.to, p.out
		if !p.one {
			i := p.n - 1 - p.taken
			in, out = w.data[p.ins+i], unpack(w.data, p.outs+i*p.outSize, p.outSize)
			if to = int(unpack(w.data, p.addrs+i*p.addrSize, p.addrSize)); to != fstEmpty {
				to = p.start - to
			}
		}
		if p.taken > 0 && in <= p.last {
			return nil, 0, false, fmt.Errorf("input %d after %d: not in order: %w", in, p.last, base.ErrCorrupt)
		}
		p.taken, p.last = p.taken+1, in
		w.key = append(w.key, in)
		final, value, err := w.push(to, p.start, p.value+out)
		if err != nil || final {
			return w.key, value, err == nil, err
		}
	}
	return nil, 0, false, nil
}

// nextMatching is next with a filter.
func (w *fstWalker) nextMatching() (key []byte, value uint64, ok bool, err error) {
	for len(w.path) > 0 {
		p := &w.path[len(w.path)-1]
		if p.taken == p.n {
			w.path = w.path[:len(w.path)-1]
			w.key = w.key[:max(len(w.key), 1)-1]
			continue
		}
		in, to, out, err := w.transition(p)
		if err != nil {
			return nil, 0, false, err
		}
		p.taken, p.last = p.taken+1, in
		final, value, err := w.follow(p, in, to, out)
		if err != nil || final {
			return w.key, value, err == nil, err
		}
	}
	return nil, 0, false, nil
}

// push appends the state at an address, which is below a limit, and returns whether a key ends there, with its value.
func (w *fstWalker) push(at, limit int, value uint64) (final bool, _ uint64, err error) {
	if len(w.path) == cap(w.path) {
		if len(w.path) > maxTermLen {
			return false, 0, fmt.Errorf("key of more than %d bytes: %w", maxTermLen, base.ErrCorrupt)
		}
		w.path = append(w.path, fstPlace{})
	} else {
		w.path = w.path[:len(w.path)+1]
	}
	p := &w.path[len(w.path)-1]
	*p = fstPlace{value: value}
	if at == fstEmpty {
		return true, value, nil
	}
	if at < fstHeader || at >= limit {
		return false, 0, fmt.Errorf("state at %d, want %d to %d: %w", at, fstHeader, limit-1, base.ErrCorrupt)
	}
	header := w.data[at]
	if header&fstOne != 0 {
		w.pushOne(p, at, header)
		return false, 0, nil
	}
	p.n = int(header & fstMaxCount)
	if p.n == 0 {
		at--
		if p.n = int(w.data[at]); p.n == 1 {
			p.n = fstMaxBranch
		}
	}
	at--
	p.addrSize, p.outSize = int(w.data[at]>>4), int(w.data[at]&15)
	p.ins = at - p.n
	p.addrs = p.ins - p.n*p.addrSize
	p.outs = p.addrs - p.n*p.outSize
	p.start = p.outs
	if header&fstFinal == 0 {
		if p.n == 0 && len(w.path) > 1 { // 2^n paths of n states could lead here, and none is a key
			return false, 0, fmt.Errorf("state at %d without a key: %w", at, base.ErrCorrupt)
		}
		return false, 0, nil
	}
	p.start -= p.outSize
	return true, value + unpack(w.data, p.start, p.outSize), nil
}

func (w *fstWalker) pushOne(p *fstPlace, at int, header byte) {
	p.one, p.n = true, 1
	if p.in = header & fstMaxCount; p.in == 0 {
		at--
		p.in = w.data[at]
	} else {
		p.in = fstCommon[p.in-1]
	}
	if header&fstAdjacent != 0 {
		p.start, p.to = at, at-1
		return
	}
	at--
	addrSize, outSize := int(w.data[at]>>4), int(w.data[at]&15)
	at -= addrSize
	p.to = int(unpack(w.data, at, addrSize))
	at -= outSize
	p.out, p.start = unpack(w.data, at, outSize), at
	if p.to != fstEmpty {
		p.to = at - p.to
	}
}
