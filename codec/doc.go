// Package codec encodes and decodes blocks of postings: increasing DocIDs and their
// frequencies, BlockLen at a time.
//
// It does not handle lists, files or scores: the caller decides where blocks lie, keeps their
// metadata, and chooses a codec by name (Lookup).
//
//   - raw: 4 bytes per value; the oracle for the others.
//   - vbyte: 7 bits per byte.
//   - rice: slots of b bits and a unary part; small (ding09).
//   - ef: Elias-Fano; small; decodes any value alone (griffin18).
//   - pef: partitioned Elias-Fano for whole lists; the smallest, and slow.
//   - simdbp: horizontal bit packing, the default; decodes any value alone.
//   - qmx: gaps of equal width packed into 128-bit words (saat).
//   - pfordelta: slots, then linked exceptions (griffin18, ding09).
//   - newpfd: slots, then exceptions' upper bits in Simple-16.
//   - parapfor: as newpfd, bit-packed for parallel decoding (ao11).
//   - pfordelta-rec: one slot width for a list; exceptions compressed recursively (ding09).
//   - lrc, lrcseg, seglrc, hs-lrc: deviations from regression lines (ao11).
//
// Each codec is an exported type, whose documentation describes its format and parameters. A
// program with a fixed codec uses the type, whose zero value has the defaults; Lookup is for
// names and parameters that are known at run time.
//
// Codecs are safe for concurrent use.
package codec
