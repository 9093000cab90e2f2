package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/trec"
)

const maxPassageBytes = 16 << 20

// The part of the input used for both engines.
type subset struct {
	path     string
	numDocs  int
	numBytes int64 // of JSON lines
}

// writeSubset copies the first limit lines of the inputs (JSON lines, plain or
// .zst) to a plain file; 0: all.
func writeSubset(to string, inputs []string, limit int) (subset, error) {
	out, err := os.Create(to)
	if err != nil {
		return subset{}, err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	s := subset{path: to}
	for _, input := range inputs {
		if limit > 0 && s.numDocs >= limit {
			break
		}
		if err := s.appendFrom(w, input, limit); err != nil {
			return subset{}, fmt.Errorf("%s: %w", input, err)
		}
	}
	if err := w.Flush(); err != nil {
		return subset{}, err
	}
	return s, out.Close()
}

func (s *subset) appendFrom(w io.Writer, input string, limit int) error {
	f, err := os.Open(input)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(input, ".zst") {
		d, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return err
		}
		defer d.Close()
		r = d
	}
	lines := newLineScanner(r)
	for (limit == 0 || s.numDocs < limit) && lines.Scan() {
		n, err := fmt.Fprintf(w, "%s\n", lines.Bytes())
		if err != nil {
			return err
		}
		s.numDocs++
		s.numBytes += int64(n)
	}
	return lines.Err()
}

func newLineScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 1<<20), maxPassageBytes)
	return s
}

// The first limit topics; 0: all.
func readQueries(path string, limit int) ([]trec.Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	topics, err := trec.ReadTopics(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if limit > 0 && len(topics) > limit {
		topics = topics[:limit]
	}
	return topics, nil
}

// As TSV, for griffin bench.
func writeQueries(path string, topics []trec.Topic) error {
	var b strings.Builder
	for _, t := range topics {
		fmt.Fprintf(&b, "%s\t%s\n", t.ID, t.Title)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
