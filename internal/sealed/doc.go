// Package sealed is the container of every index file: a payload between a
// header and a footer, with a checksum for each 64 KiB.
//
// A Writer writes a file once, in order; the file is complete only after Close
// returns nil. Open maps a file and validates its header, footer, length and
// checksum table at negligible cost. Check verifies chunks of the payload at
// their first use, Verify all of them. No decoder reads an unverified byte.
//
// The checksums detect damaged, truncated or exchanged files. They do not stop
// an attacker who recomputes them, so decoders check bounds on any bytes.
//
// A File is safe for concurrent use, a Writer is not.
//
// # Format, version 1
//
// All numbers are little endian. The payload starts at a multiple of 64, so
// alignment in the payload is alignment in memory.
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
// kind is up to 8 ASCII bytes, zero padded. version is the version of the
// payload's format. chunk size is 65536. The table holds the CRC-32C of each 64
// KiB chunk of the payload; the last chunk may be short. The crc of header and
// footer covers their bytes before the crc.
package sealed
