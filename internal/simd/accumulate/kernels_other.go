//go:build (!amd64 && !arm64) || noasm

package accumulate

func scatter8(acc []uint8, docIDs []uint32, v uint8) int    { return scatterGeneric(acc, docIDs, v) }
func scatter16(acc []uint16, docIDs []uint32, v uint16) int { return scatterGeneric(acc, docIDs, v) }
func scatter32(acc []uint32, docIDs []uint32, v uint32) int { return scatterGeneric(acc, docIDs, v) }

func bitmap8(acc []uint8, words []byte, v uint8)    { bitmap8Generic(acc, words, v) }
func bitmap16(acc []uint16, words []byte, v uint16) { bitmapGeneric(acc, words, v) }
func bitmap32(acc []uint32, words []byte, v uint32) { bitmapGeneric(acc, words, v) }

func drain8(acc []uint8, least uint8) (int, uint64)    { return drain8Generic(acc, least) }
func drain16(acc []uint16, least uint16) (int, uint64) { return drainGeneric(acc, least) }
func drain32(acc []uint32, least uint32) (int, uint64) { return drainGeneric(acc, least) }
