package sealed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/griffin-search/griffin/internal/base"
)

// ChunkLen is the number of payload bytes of one checksum.
const ChunkLen = 1 << 16

const (
	headerLen = 64
	footerLen = 32
	kindLen   = 8

	headMagic = "GRIFFIN\n"
	tailMagic = "\nNIFFIRG"
)

// Slack is the number of undefined but readable bytes after the payload, which let decoders
// load whole words.
const Slack = footerLen

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func numChunks(payload uint64) uint64 { return (payload + ChunkLen - 1) / ChunkLen }

func tablePadding(payload uint64) uint64 { return -payload & 3 }

func appendHeader(dst []byte, kind string, version uint32) []byte {
	start := len(dst)
	dst = append(dst, headMagic...)
	dst = append(dst, kind...)
	dst = append(dst, make([]byte, kindLen-len(kind))...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, ChunkLen)
	dst = append(dst, make([]byte, headerLen-4-(len(dst)-start))...)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
}

func appendFooter(dst []byte, payload uint64, tableCRC, headerCRC uint32) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, payload)
	dst = binary.LittleEndian.AppendUint32(dst, tableCRC)
	dst = binary.LittleEndian.AppendUint32(dst, headerCRC)
	dst = append(dst, tailMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
}

type layout struct {
	version    uint32
	payloadLen uint64
	table      []byte
	tableCRC   uint32
}

// The payload's checksums are not checked.
func parse(file []byte, kind string, maxVersion uint32) (layout, error) {
	if len(file) < headerLen+footerLen || string(file[:len(headMagic)]) != headMagic {
		if len(file) < headerLen && bytes.HasPrefix([]byte(headMagic), file[:min(len(file), len(headMagic))]) {
			return layout{}, fmt.Errorf("file is cut off: %d bytes: %w", len(file), base.ErrCorrupt)
		}
		return layout{}, fmt.Errorf("not a Griffin index file: %w", base.ErrCorrupt)
	}
	header := file[:headerLen]
	headerCRC := binary.LittleEndian.Uint32(header[headerLen-4:])
	if checksum(header[:headerLen-4]) != headerCRC {
		return layout{}, fmt.Errorf("header checksum: %w", base.ErrCorrupt)
	}
	if got := string(bytes.TrimRight(header[8:8+kindLen], "\x00")); got != kind {
		return layout{}, fmt.Errorf("file holds %q, not %q: %w", got, kind, base.ErrCorrupt)
	}
	l := layout{version: binary.LittleEndian.Uint32(header[16:])}
	if l.version == 0 || l.version > maxVersion {
		return layout{}, fmt.Errorf("format version %d, this program reads up to %d: %w", l.version, maxVersion, base.ErrVersion)
	}
	if n := binary.LittleEndian.Uint32(header[20:]); n != ChunkLen {
		return layout{}, fmt.Errorf("chunk size %d: %w", n, base.ErrVersion)
	}

	footer := file[len(file)-footerLen:]
	if string(footer[16:24]) != tailMagic || checksum(footer[:footerLen-4]) != binary.LittleEndian.Uint32(footer[footerLen-4:]) {
		return layout{}, fmt.Errorf("footer is damaged or cut off: %w", base.ErrCorrupt)
	}
	l.payloadLen = binary.LittleEndian.Uint64(footer)
	l.tableCRC = binary.LittleEndian.Uint32(footer[8:])
	if binary.LittleEndian.Uint32(footer[12:]) != headerCRC {
		return layout{}, fmt.Errorf("header and footer are of different files: %w", base.ErrCorrupt)
	}
	rest := uint64(len(file) - headerLen - footerLen)
	if l.payloadLen > rest || rest-l.payloadLen != tablePadding(l.payloadLen)+4*numChunks(l.payloadLen) {
		return layout{}, fmt.Errorf("file of %d bytes cannot hold a payload of %d: %w", len(file), l.payloadLen, base.ErrCorrupt)
	}
	start := headerLen + l.payloadLen + tablePadding(l.payloadLen)
	for _, b := range file[headerLen+l.payloadLen : start] {
		if b != 0 {
			return layout{}, fmt.Errorf("padding is not zero: %w", base.ErrCorrupt)
		}
	}
	l.table = file[start : len(file)-footerLen]
	if checksum(l.table) != l.tableCRC {
		return layout{}, fmt.Errorf("checksum table: %w", base.ErrCorrupt)
	}
	return l, nil
}
