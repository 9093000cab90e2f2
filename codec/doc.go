// Package codec encodes and decodes blocks of postings: increasing DocIDs and their
// frequencies, BlockLen at a time.
//
// A codec is chosen by name (Lookup). An index records the name of its codec. The package
// does not handle lists, files or scores: the caller decides where blocks lie and keeps
// their metadata.
//
//   - raw: 4 bytes per value; the oracle for the other codecs.
//   - vbyte: 7 bits per byte; the codec of older engines.
//   - rice: small; each value has a slot of b bits and a unary part (ding09).
//   - ef: Elias-Fano; small; any value of a block can be read alone (griffin18).
//   - pef: partitioned Elias-Fano for whole lists; the smallest, and slow.
//   - simdbp: horizontal bit packing of gaps, the default; any value of a block can be read
//     alone.
//   - qmx: gaps of equal width packed into 128-bit words (saat).
//   - pfordelta: gaps in slots; exceptions follow the slots and are linked (griffin18,
//     ding09); any frequency can be read alone.
//   - newpfd: exceptions keep their low bits in the slot; the rest is coded with Simple-16.
//   - parapfor: as newpfd, but the rest is bit-packed for parallel decoding (ao11).
//   - pfordelta-rec: one slot width for a whole list; exceptions are compressed recursively
//     (ding09).
//   - lrc, lrcseg, seglrc, hs-lrc: deviations from regression lines, for whole lists that
//     can be searched without decoding (ao11; Regression, RegressionList).
//
// Codecs have no state and are safe for concurrent use. Decoders accept arbitrary bytes:
// see Codec.
package codec
