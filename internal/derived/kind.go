package derived

import (
	"errors"
	"fmt"
)

// Kind is one kind of derived structure, *T values, made once as a package variable. Two Kinds
// are distinct even if T and name are the same.
type Kind[T any] struct{ kind }

type kind struct{ name string }

// NewKind returns a Kind; errors use name.
func NewKind[T any](name string) *Kind[T] { return &Kind[T]{kind{name}} }

// Get returns the list's structure for a parameter (a number of segments, a block size, or 0).
// If it is not kept, build returns it, not to be changed afterwards, and its approximate size
// in bytes. All that wait get an error of build, which is not kept.
//
// With the zero List, Get only calls build.
func (k *Kind[T]) Get(l List, param uint64, build func() (value *T, sizeBytes int64, err error)) (*T, error) {
	return k.get(l, param, needed, build)
}

// GetIfRoom is Get for structures that a query can do without, such as copies of postings. They
// are built only if there is room for sizeBytes, approximately, and dropped when Get needs the
// room. Without room, and with the zero List, the result is nil.
func (k *Kind[T]) GetIfRoom(l List, param uint64, sizeBytes int64, build func() (value *T, sizeBytes int64, err error)) (*T, error) {
	if l.segment == nil || !k.Keeps(l, param) && !l.Room(1, sizeBytes) {
		return nil, nil
	}
	return k.get(l, param, spare, build)
}

// Keeps reports whether the structure is kept or being built.
func (k *Kind[T]) Keeps(l List, param uint64) bool {
	if l.segment == nil {
		return false
	}
	c := l.segment.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[key{kind: &k.kind, segment: l.segment.id, list: l.id, param: param}] != nil
}

// Kept returns the structure if it is complete, without building it; else nil.
func (k *Kind[T]) Kept(l List, param uint64) *T {
	if l.segment == nil {
		return nil
	}
	c := l.segment.cache
	c.mu.RLock()
	e := c.entries[key{kind: &k.kind, segment: l.segment.id, list: l.id, param: param}]
	c.mu.RUnlock()
	if e == nil || !e.done.Load() || e.err != nil {
		return nil
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.value.(*T)
}

func (k *Kind[T]) get(l List, param uint64, which int, build func() (value *T, sizeBytes int64, err error)) (*T, error) {
	if l.segment == nil {
		value, _, err := build()
		return value, err
	}
	c := l.segment.cache
	e, mine := c.find(l.segment, key{kind: &k.kind, segment: l.segment.id, list: l.id, param: param}, which)
	if mine {
		return k.build(l.segment, e, build)
	}
	if !e.done.Load() {
		<-e.ready
	}
	if e.err != nil {
		return nil, e.err
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.value.(*T), nil
}

// For goroutines that wait for a structure whose build panics.
var errPanicked = errors.New("the build panicked")

// Only one goroutine completes e.
func (k *Kind[T]) build(s *Segment, e *entry, build func() (*T, int64, error)) (*T, error) {
	e.err = fmt.Errorf("derived: %s: %w", k.name, errPanicked)
	defer func() { s.cache.finish(s, e) }()
	value, sizeBytes, err := build()
	e.value, e.size, e.err = value, sizeBytes+entryOverhead, err
	return value, err
}
