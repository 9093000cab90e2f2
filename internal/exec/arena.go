package exec

// arena hands out slices of T that stay where they are until reset, and keeps
// their memory for the next use. What it hands out holds old values.
type arena[T any] struct {
	chunks [][]T
	chunk  int // being handed out
	used   int // of it
}

// arenaChunk is the length of the first chunk; each further one is twice as long.
const arenaChunk = 8

func (a *arena[T]) reset() { a.chunk, a.used = 0, 0 }

// take returns a slice of n values.
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

// one returns a pointer to one value.
func (a *arena[T]) one() *T { return &a.take(1)[0] }
