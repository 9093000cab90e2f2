// Package column unpacks and tests blocks of packed numbers of up to 64 bits, as columns have
// them, and moves bits between sets of documents and sets of the documents with a value.
//
//	Append    packs a block
//	Unpack    unpacks a block
//	Range     tests which values of a packed block lie in a range
//	Select    gathers the selected values of an unpacked block
//	List      lists the positions of bits, Mark sets the bits of positions, Ones counts bits
//	Tally     counts the values at positions, TallyEven in blocks of one width
//	Deposit   spreads bits to the set positions of a word
//	Extract   gathers the bits at the set positions of a word
//
// Up to 32 bits, a block has the layout of package bitpack: value i lies at bit i*width, least
// significant bit first.
//
// Functions panic if a slice is too short and read nothing outside it.
//
// Measurements: docs/benchmarks/columns.md.
package column

//go:generate go -C ../../../tools/asm run ./column -out ../../internal/simd/column/column_amd64.s -stubs ../../internal/simd/column/stubs_amd64.go -pkg column
//go:generate go -C ../../../tools/asm run ./neon column
