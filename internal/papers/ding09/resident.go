package ding09

import (
	"encoding/binary"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/segment"
)

// content is what an item has, on the host.
type content struct {
	parts [][]uint32 // nil once they are on the device
	// list of a listItem. In main memory as on the device: the structure of recursive PForDelta is
	// read from it.
	list *lists.List
	// longest is the maximum of a lengthsItem.
	longest uint32
}

// Parts of a listItem.
const (
	payloadPart = iota
	directoryPart
	freqsPart
	freqDirectoryPart
)

// listContent is the compressed DocIDs with the directory, and the packed frequencies.
func listContent(l *lists.List) (content, error) {
	payload, directory, err := alone(l)
	if err != nil {
		return content{}, err
	}
	return content{parts: [][]uint32{payload, directory, l.Freqs, l.FreqDirectory}, list: l}, nil
}

// alone returns the payload and the directory of a list. A single block of a codec of lists is coded
// as a block, as decode expects.
func alone(l *lists.List) (payload, directory []uint32, err error) {
	if _, whole := l.Codec.(codec.ListCodec); !whole || l.NumBlocks() > 1 {
		return l.Payload, l.Directory, nil
	}
	var docIDs [codec.BlockLen]uint32
	n, err := l.DecodeBlock(0, &docIDs)
	if err != nil {
		return nil, nil, err
	}
	data, width := l.Codec.AppendDocIDs(nil, codec.NoBase, docIDs[:n])
	directory = slices.Clone(l.Directory)
	directory[2], directory[3] = 0, uint32(width)<<16
	data = append(data, 0, 0, 0)
	payload = make([]uint32, len(data)/4)
	for i := range payload {
		payload[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return payload, directory, nil
}

func lengthsContent(lengths []uint32) content {
	return content{parts: [][]uint32{lengths}, longest: slices.Max(lengths)}
}

func liveContent(live *segment.Bitmap) content {
	words := make([]uint32, 0, 2*len(live.Words()))
	for _, w := range live.Words() {
		words = append(words, uint32(w), uint32(w>>32))
	}
	return content{parts: [][]uint32{words}}
}

// source returns a listItem for decoding.
func (it *item) source() decode.Source {
	return decode.Source{Payload: it.buffers[payloadPart], Directory: it.buffers[directoryPart], NumPostings: it.list.NumPostings}
}

// freqs returns the frequencies of a listItem, which are read one by one (§8.2).
func (it *item) freqs() (scoring.Freqs, error) {
	return scoring.PackedFreqs(it.buffers[freqsPart], it.buffers[freqDirectoryPart], it.list.NumPostings)
}

// isRecursive reports whether a listItem has exceptions to be decoded before its blocks.
func (it *item) isRecursive() bool {
	_, recursive := it.list.Codec.(codec.PForDeltaRec)
	return recursive && it.list.NumBlocks() > 1
}

// recursion returns the arrays of exceptions, which are decoded to scratch.
func (it *item) recursion(scratch cuda.Buffer[uint32]) (decode.RecArrays, error) {
	return decode.NewRecArrays(it.list.Bytes(), it.source(), scratch)
}
