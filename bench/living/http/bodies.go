package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// body is a request to _bulk. Its ids are numbers of idDigits digits, which each use of the body
// replaces.
type body struct {
	data     []byte
	ids      []int // offsets of the ids in data
	docBytes int   // JSON of the documents, without the lines of operations
}

const (
	idDigits  = 12
	operation = `{"index":{"_id":"000000000000"}}` + "\n"
	idOffset  = len(`{"index":{"_id":"`)
)

// number writes the ids from first on into a copy.
func (b *body) number(dst []byte, first int64) []byte {
	dst = append(dst[:0], b.data...)
	for i, at := range b.ids {
		copy(dst[at:at+idDigits], fmt.Sprintf("%0*d", idDigits, first+int64(i)))
	}
	return dst
}

func (b *body) add(source []byte) {
	b.ids = append(b.ids, len(b.data)+idOffset)
	b.data = append(append(append(b.data, operation...), source...), '\n')
	b.docBytes += len(source)
}

// readBodies makes bodies of about size bytes of up to limit passages.
func readBodies(files []string, limit, size int) (bodies []*body, err error) {
	n := 0
	last := &body{}
	for _, name := range files {
		err := eachLine(name, func(line []byte) (more bool, err error) {
			var p struct {
				Title string `json:"title"`
				Text  string `json:"text"`
			}
			if err := json.Unmarshal(line, &p); err != nil {
				return false, err
			}
			source, err := json.Marshal(p)
			if err != nil {
				return false, err
			}
			last.add(source)
			if n++; len(last.data) >= size {
				bodies, last = append(bodies, last), &body{}
			}
			return n < limit, nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(bodies) == 0 {
		bodies = append(bodies, last)
	}
	if len(bodies[0].ids) == 0 {
		return nil, fmt.Errorf("%s: no passages", files[0])
	}
	return bodies, nil
}

func readQueries(name string) (queries []string, err error) {
	err = eachLine(name, func(line []byte) (bool, error) {
		_, text, _ := strings.Cut(string(line), "\t")
		queries = append(queries, text)
		return true, nil
	})
	if err == nil && len(queries) == 0 {
		err = fmt.Errorf("%s: no queries", name)
	}
	return queries, err
}

func eachLine(name string, do func([]byte) (more bool, err error)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".zst") {
		d, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return err
		}
		defer d.Close()
		r = d
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		more, err := do(bytes.TrimSpace(lines.Bytes()))
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if !more {
			break
		}
	}
	return lines.Err()
}
