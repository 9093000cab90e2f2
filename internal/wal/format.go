package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/griffin-search/griffin/internal/base"
)

// A file is a header and frames. All numbers are little endian.
//
//	header:  0          8         12      16       24       32      40        48        60    64
//	         +----------+---------+-------+--------+--------+-------+---------+---------+-----+
//	         |"GRIFFWAL"| version | prev  | log id | number | first | prevEnd | zeros   | crc |
//	         +----------+---------+-------+--------+--------+-------+---------+---------+-----+
//
//	frame:   0     4      8        12     13     14      16     24
//	         +-----+------+--------+------+------+-------+------+-----------+
//	         | crc | prev | length | kind | type | zeros | seq  | payload   |
//	         +-----+------+--------+------+------+-------+------+-----------+
//
// prev is the crc of the previous record's frame. In a header, it is the crc of the last record
// of the previous file, of which prevEnd bytes are valid. A frame's crc is the CRC-32C of the log
// id and of all bytes after the crc. A mark is no link of the chain: the record after it has the
// same prev.
const (
	magic     = "GRIFFWAL"
	version   = 1 // 1: the first
	headerLen = 64
	frameLen  = 24
)

// Kinds of frame.
const (
	kindRecord = 1 // more records of its Append follow
	kindLast   = 2 // the last record of an Append
	kindMark   = 3 // the records up to seq were durable before the mark was written
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	id      uint64
	number  uint64
	first   Seq // the lowest number of a record that the file may have
	prevEnd int64
	prev    uint32
}

// seed begins the checksum of each frame, so that frames of other logs are invalid.
func (h *header) seed() uint32 {
	return crc32.Checksum(binary.LittleEndian.AppendUint64(nil, h.id), castagnoli)
}

func (h *header) encode() []byte { return h.encodeVersion(version) }

func (h *header) encodeVersion(v uint32) []byte {
	b := make([]byte, headerLen)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], v)
	binary.LittleEndian.PutUint32(b[12:], h.prev)
	binary.LittleEndian.PutUint64(b[16:], h.id)
	binary.LittleEndian.PutUint64(b[24:], h.number)
	binary.LittleEndian.PutUint64(b[32:], uint64(h.first))
	binary.LittleEndian.PutUint64(b[40:], uint64(h.prevEnd))
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

func decodeHeader(file string, b []byte) (header, error) {
	if len(b) < headerLen || string(b[:8]) != magic || crc32.Checksum(b[:60], castagnoli) != binary.LittleEndian.Uint32(b[60:]) {
		return header{}, &damage{file, 0, "it has no valid header"}
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return header{}, fmt.Errorf("%s: version %d: %w", file, v, base.ErrVersion)
	}
	h := header{
		prev:    binary.LittleEndian.Uint32(b[12:]),
		id:      binary.LittleEndian.Uint64(b[16:]),
		number:  binary.LittleEndian.Uint64(b[24:]),
		first:   Seq(binary.LittleEndian.Uint64(b[32:])),
		prevEnd: int64(binary.LittleEndian.Uint64(b[40:])),
	}
	if h.first == 0 || h.prevEnd < 0 {
		return header{}, &damage{file, 0, "its header has impossible values"}
	}
	return h, nil
}

// frame is a decoded frame without its payload.
type frame struct {
	crc, prev uint32
	length    int
	kind, typ byte
	seq       Seq
}

// decodeFrame reads the first frameLen bytes of b. It reports whether they can be a frame.
func decodeFrame(b []byte) (f frame, ok bool) {
	length := binary.LittleEndian.Uint32(b[8:])
	f = frame{
		crc: binary.LittleEndian.Uint32(b), prev: binary.LittleEndian.Uint32(b[4:]), length: int(length),
		kind: b[12], typ: b[13], seq: Seq(binary.LittleEndian.Uint64(b[16:])),
	}
	switch f.kind {
	case kindRecord, kindLast:
		ok = length <= MaxPayloadBytes
	case kindMark:
		ok = length == 0 && f.typ == 0
	}
	return f, ok && b[14] == 0 && b[15] == 0
}

// checksum is the crc of the frame that begins at b.
func (f *frame) checksum(seed uint32, b []byte) uint32 {
	return crc32.Update(seed, castagnoli, b[4:frameLen+f.length])
}

// put writes f, without payload and checksum, to b.
func (f *frame) put(b []byte) {
	binary.LittleEndian.PutUint32(b[4:], f.prev)
	binary.LittleEndian.PutUint32(b[8:], uint32(f.length))
	b[12], b[13], b[14], b[15] = f.kind, f.typ, 0, 0
	binary.LittleEndian.PutUint64(b[16:], uint64(f.seq))
}

// appendFrame appends a frame with its payload and returns its checksum.
func appendFrame(dst []byte, seed uint32, f frame, payload []byte) ([]byte, uint32) {
	f.length = len(payload)
	at := len(dst)
	var room [frameLen]byte
	dst = append(append(dst, room[:]...), payload...)
	b := dst[at:]
	f.put(b)
	crc := f.checksum(seed, b)
	binary.LittleEndian.PutUint32(b, crc)
	return dst, crc
}

// putMark writes a mark to the first frameLen bytes of b.
func putMark(b []byte, seed, prev uint32, durable Seq) {
	f := frame{prev: prev, kind: kindMark, seq: durable}
	f.put(b)
	binary.LittleEndian.PutUint32(b, f.checksum(seed, b))
}
