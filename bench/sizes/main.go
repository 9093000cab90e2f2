// Command sizes encodes the lists of an index with several codecs and writes
// the bits per posting as JSON: of the DocIDs, of the frequencies, and of both
// with the directory that every codec needs.
//
//	go run ./bench/sizes INDEX [CODEC…]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Minimum lengths of lists with separate results. Most lists of griffin18 have
// 1,000 to 1,000,000 postings (Figure 10).
var least = [3]int{1000, 10_000, 100_000}

// Of a block, in lists of several blocks.
const directoryEntry = 16

// Report is the output.
type Report struct {
	Index     string  `json:"index"`
	Documents int     `json:"documents"`
	Lists     int     `json:"lists"`
	Postings  int     `json:"postings"`
	Long      [3]int  `json:"postings_of_lists_from_1000_10000_100000"`
	Directory float64 `json:"directory_bits_per_posting"`
	Codecs    []Size  `json:"codecs"`
}

// Size is in bits per posting.
type Size struct {
	Codec  string  `json:"codec"`
	DocIDs float64 `json:"docid_bits"`
	Freqs  float64 `json:"freq_bits"`
	Both   float64 `json:"bits"`
	// 4-byte DocIDs relative to the encoded DocIDs, for lists of at least these
	// lengths.
	Ratio [3]float64 `json:"docid_ratio_of_lists_from_1000_10000_100000"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: sizes INDEX [CODEC…]")
	}
	names := args[1:]
	if len(names) == 0 {
		names = append(codec.Names(), "pfordelta:plain=1") // griffin18, Table 1
	}
	codecs := make([]codec.Codec, len(names))
	for i, name := range names {
		var err error
		if codecs[i], err = codec.Lookup(name); err != nil {
			return err
		}
	}
	report := Report{Index: filepath.Base(args[0]), Codecs: make([]Size, len(names))}
	docIDs, freqs, err := load(args[0], &report)
	if err != nil {
		return err
	}
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, len(names))
	var wait sync.WaitGroup
	for i, c := range codecs {
		wait.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			report.Codecs[i], errs[i] = measure(ctx, c, docIDs, freqs)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(&report)
}

// The default field of all segments.
func load(dir string, report *Report) (docIDs, freqs [][]uint32, err error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := ix.Snapshot()
	if err := errors.Join(err, ix.Close()); err != nil {
		return nil, nil, err
	}
	defer snapshot.Release()
	report.Documents = snapshot.NumDocs
	directory := 0
	for _, s := range snapshot.Segments {
		terms := s.Terms(0, nil)
		for terms.Next() {
			d, f, err := readList(s.Segment, terms.Term())
			if err != nil {
				return nil, nil, err
			}
			docIDs, freqs = append(docIDs, d), append(freqs, f)
			report.Lists++
			report.Postings += len(d)
			for i, length := range least {
				if len(d) >= length {
					report.Long[i] += len(d)
				}
			}
			if len(d) > codec.BlockLen {
				directory += directoryEntry * ((len(d) + codec.BlockLen - 1) / codec.BlockLen)
			}
		}
		if err := terms.Err(); err != nil {
			return nil, nil, err
		}
	}
	if report.Postings == 0 {
		return nil, nil, errors.New("the index is empty")
	}
	report.Directory = bitsPer(directory, report.Postings)
	return docIDs, freqs, nil
}

func readList(s *segment.Segment, term []byte) (docIDs, freqs []uint32, err error) {
	var l postings.List
	if _, err := s.Find(0, term, &l); err != nil {
		return nil, nil, err
	}
	var block [codec.BlockLen]uint32
	for i := range l.NumBlocks() {
		n := l.BlockSize(i)
		size, err := l.DecodeDocIDs(i, &block)
		if err != nil {
			return nil, nil, err
		}
		docIDs = append(docIDs, block[:n]...)
		if err := l.DecodeFreqs(i, size, &block); err != nil {
			return nil, nil, err
		}
		freqs = append(freqs, block[:n]...)
	}
	return docIDs, freqs, nil
}

// Lists are encoded as in internal/postings.
func measure(ctx context.Context, c codec.Codec, docIDs, freqs [][]uint32) (Size, error) {
	var n, docBytes, freqBytes int
	var long, longBytes [len(least)]int
	var buf []byte
	for i, list := range docIDs {
		if err := ctx.Err(); err != nil {
			return Size{}, err
		}
		size := docIDBytes(c, &buf, list)
		n += len(list)
		docBytes += size
		for i, length := range least {
			if len(list) >= length {
				long[i] += len(list)
				longBytes[i] += size
			}
		}
		for f := freqs[i]; len(f) > 0; f = f[min(len(f), codec.BlockLen):] {
			buf, _ = c.AppendFreqs(buf[:0], f[:min(len(f), codec.BlockLen)])
			freqBytes += len(buf)
		}
	}
	s := Size{Codec: c.Name(), DocIDs: bitsPer(docBytes, n), Freqs: bitsPer(freqBytes, n), Both: bitsPer(docBytes+freqBytes, n)}
	for i := range least {
		if long[i] > 0 {
			s.Ratio[i] = 4 * float64(long[i]) / float64(longBytes[i])
		}
	}
	return s, nil
}

// Whole or block by block.
func docIDBytes(c codec.Codec, buf *[]byte, list []uint32) (size int) {
	if c, ok := c.(codec.ListCodec); ok && len(list) > codec.BlockLen {
		*buf = c.AppendList((*buf)[:0], list)
		return len(*buf)
	}
	base := codec.NoBase
	for len(list) > 0 {
		n := min(len(list), codec.BlockLen)
		*buf, _ = c.AppendDocIDs((*buf)[:0], base, list[:n])
		size += len(*buf)
		base, list = list[n-1], list[n:]
	}
	return size
}

func bitsPer(bytes, n int) float64 { return 8 * float64(bytes) / float64(n) }
