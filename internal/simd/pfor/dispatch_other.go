//go:build !amd64 || noasm

package pfor

func decode(dst *[Len]uint32, b *Block) bool { return decodeGeneric(dst, b) }

func decodeGaps(dst *[Len]uint32, b *Block, base uint32) bool { return decodeGapsGeneric(dst, b, base) }
