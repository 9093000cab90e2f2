// Package codec encodes and decodes blocks of postings: rising document
// numbers and their frequencies, BlockLen at a time.
//
// A codec is chosen by name (Lookup); an index records the name that it was
// built with. The package knows nothing of lists, files or scores: where
// blocks lie, and what is kept of each, is up to its user.
//
//   - raw: 4 bytes a value; the oracle of the others.
//   - vbyte: 7 bits a byte; what older indexes have.
//   - rice: small; each value a slot of b bits and a unary part (ding09).
//   - ef: Elias-Fano; small, and any value of a block can be read alone
//     (griffin18).
//   - pef: Elias-Fano in partitions of unequal lengths, for whole lists: the
//     smallest, and slow.
//   - simdbp: horizontal bit packing of gaps, the default; any value of a block
//     can be read alone.
//   - qmx: as many gaps to a word of 128 bits as fit (saat).
//   - pfordelta: gaps in slots, those that do not fit behind them, linked
//     (griffin18, ding09); any frequency can be read alone.
//   - newpfd: the same with lower bits in slots, the rest in Simple-16.
//   - parapfor: the same with the rest packed, for decoding in parallel (ao11).
//   - pfordelta-rec: one slot width for a whole list, the rest compressed the
//     same way again (ding09).
//   - lrc, lrcseg, seglrc, hs-lrc: deviations from lines, for whole lists, which
//     can be searched without decoding them (ao11; Regression, RegressionList).
//
// Codecs have no state and are safe for concurrent use. Decoders may be given
// any bytes: see Codec.
package codec
