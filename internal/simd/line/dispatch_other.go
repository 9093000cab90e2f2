//go:build (!amd64 && !arm64) || noasm

package line

func add(dst *[Len]uint32, start, slope uint64) bool { return AddTail(dst[:], start, slope) }
