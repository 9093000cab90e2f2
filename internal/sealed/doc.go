// Package sealed is the container of every index file: a payload between a
// header that says what it is and a footer that says what it must be, with a
// checksum for each 64 KiB of it.
//
// A file is written once, in order, by a Writer, and is complete only when
// Close returned without an error. Open maps it and validates header, footer,
// length and checksum table, which costs next to nothing; the payload is
// checked chunk by chunk when it is first touched (Check), or all of it
// (Verify). No decoder sees a byte whose chunk was not checked.
//
// The checksums find accidents: damaged, cut, exchanged or mixed up files.
// They are no defence against someone who computes them anew, so decoders of
// payloads stay within their bounds on any bytes.
//
// A File is safe for concurrent use, a Writer is for one goroutine.
//
// # Format, version 1
//
// All numbers are little endian. The payload starts at a multiple of 64, so
// that what is aligned in the payload is aligned in memory.
//
//	0            64           64+n          4-aligned        +4*ceil(n/65536)  +32
//	+------------+------------+-------------+----------------+-----------------+
//	| header 64  | payload n  | zeros 0..3  | table 4/chunk  | footer 32       |
//	+------------+------------+-------------+----------------+-----------------+
//
//	header:  0          8        16        20          24        60      64
//	         +----------+--------+---------+-----------+---------+-------+
//	         | "GRIFFIN\n"| kind | version | chunk size| zeros 36| crc   |
//	         +----------+--------+---------+-----------+---------+-------+
//
//	footer:  0            8           12           16          24     28     32
//	         +------------+-----------+------------+-----------+------+------+
//	         | payload n  | table crc | header crc | "\nNIFFIRG"| 0   | crc  |
//	         +------------+-----------+------------+-----------+------+------+
//
// kind is up to 8 ASCII bytes, zero padded; version is that of the payload's
// format; chunk size is 65536. The table holds the CRC-32C of each 64 KiB
// chunk of the payload, counted from its start; the last one may be short. The
// crc of header and footer covers the bytes of it before the crc.
package sealed
