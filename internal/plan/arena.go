package plan

import "github.com/griffin-search/griffin/internal/traverse"

// arena allocates slices of T that do not move before reset, and reuses its memory: new slices
// hold old values.
type arena[T any] struct {
	chunks [][]T
	chunk  int // current chunk
	used   int // length used of it
}

// arenaChunk is the length of the first chunk; each further one doubles it.
const arenaChunk = 8

func (a *arena[T]) reset() { a.chunk, a.used = 0, 0 }

func (a *arena[T]) take(n int) []T {
	for a.chunk < len(a.chunks) && len(a.chunks[a.chunk])-a.used < n {
		a.chunk++
		a.used = 0
	}
	if a.chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]T, max(n, arenaChunk<<a.chunk)))
	}
	taken := a.chunks[a.chunk][a.used : a.used+n : a.used+n]
	a.used += n
	return taken
}

func (a *arena[T]) one() *T {
	if a.chunk < len(a.chunks) && a.used < len(a.chunks[a.chunk]) {
		a.used++
		return &a.chunks[a.chunk][a.used-1]
	}
	return &a.take(1)[0]
}

type planMemory struct {
	leaves  arena[leaf]
	groups  arena[group]
	nodes   arena[node]
	numbers arena[int]
	offsets arena[uint32]
	bytes   arena[byte]

	traversals arena[traverse.Traversal]
}

func (m *planMemory) reset() {
	m.leaves.reset()
	m.groups.reset()
	m.nodes.reset()
	m.numbers.reset()
	m.offsets.reset()
	m.bytes.reset()
	m.traversals.reset()
}

func (m *planMemory) leaf(l leaf) *leaf {
	p := m.leaves.one()
	*p = l
	return p
}

// group has room for n nodes of each kind.
func (m *planMemory) group(n int) *group {
	g := m.groups.one()
	*g = group{required: m.nodes.take(n)[:0], optional: m.nodes.take(n)[:0], excluded: m.nodes.take(n)[:0]}
	return g
}
