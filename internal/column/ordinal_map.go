package column

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/vfs"
)

// tempFile is a file that is written once, then read, then removed.
type tempFile struct {
	fs      vfs.FS
	name    string
	file    vfs.File // nil when written
	buf     *bufio.Writer
	mapping *vfs.Mapping // nil: not read
}

func (w *Writer) createTemp() (*tempFile, error) {
	w.numFiles++
	t := &tempFile{fs: w.temp.FS, name: filepath.Join(w.temp.Dir, fmt.Sprintf("%s%d", TempPrefix, w.numFiles))}
	f, err := t.fs.Create(t.name)
	if err != nil {
		return nil, err
	}
	t.file, t.buf = f, bufio.NewWriterSize(f, 1<<16)
	return t, nil
}

// TempPrefix begins the names of temporary files.
const TempPrefix = "columns.tmp"

func (t *tempFile) write(p []byte) error {
	if _, err := t.buf.Write(p); err != nil {
		return vfs.PathError("write", t.name, err)
	}
	return nil
}

// bytes returns the whole file.
func (t *tempFile) bytes() ([]byte, error) {
	if t.file != nil {
		err := t.buf.Flush()
		if err != nil {
			err = vfs.PathError("write", t.name, err)
		}
		err = errors.Join(err, t.file.Close())
		t.file, t.buf = nil, nil
		if err != nil {
			return nil, err
		}
	}
	if t.mapping == nil {
		m, err := t.fs.Map(t.name)
		if err != nil {
			return nil, err
		}
		t.mapping = m
	}
	return t.mapping.Bytes(), nil
}

// remove may be called at any time, of nil too.
func (t *tempFile) remove() (err error) {
	if t == nil {
		return nil
	}
	if t.file != nil {
		err = t.file.Close()
		t.file = nil
	}
	if t.mapping != nil {
		err = errors.Join(err, t.mapping.Close())
		t.mapping = nil
	}
	return errors.Join(err, t.fs.Remove(t.name))
}

// ordinalMap maps the ordinals of an input to the column's.
type ordinalMap struct {
	memory []uint32
	file   *tempFile // nil: in memory
	bytes  []byte    // of file, when it is complete
}

func (m *ordinalMap) add(ord uint32) error {
	if m.file == nil {
		m.memory = append(m.memory, ord)
		return nil
	}
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], ord)
	return m.file.write(b[:])
}

func (m *ordinalMap) finish() (err error) {
	if m.file != nil {
		m.bytes, err = m.file.bytes()
	}
	return err
}

func (m *ordinalMap) at(i int64) int64 {
	if m.file == nil {
		return int64(m.memory[i])
	}
	return int64(binary.LittleEndian.Uint32(m.bytes[4*i:]))
}

// termInput is the sorted distinct terms of an input of a merge.
type termInput struct {
	terms interface {
		// next returns a term, valid until the next call; false at the end.
		next() (term []byte, ok bool, err error)
	}
	numTerms int64
	used     []uint64 // by ordinal; nil: all
	ords     ordinalMap
	term     []byte // the current one
	ord      int64  // of the next term
}

// advance moves to the next used term; the ordinals of others map to 0.
func (in *termInput) advance() (ok bool, err error) {
	for {
		term, ok, err := in.terms.next()
		if err != nil || !ok {
			return false, err
		}
		in.term = term
		at := in.ord
		in.ord++
		if in.used == nil || in.used[at/64]>>(at%64)&1 != 0 {
			return true, nil
		}
		if err := in.ords.add(0); err != nil {
			return false, err
		}
	}
}

// mergeTerms writes the terms of all inputs and fills their maps, in files if they exceed the
// budget.
func (w *Writer) mergeTerms(inputs []*termInput, out *dictionaryWriter) error {
	size := int64(0)
	for _, in := range inputs {
		size += 4 * in.numTerms
	}
	if w.temp.BudgetBytes > 0 && size > w.temp.BudgetBytes/2 {
		for _, in := range inputs {
			var err error
			if in.ords.file, err = w.createTemp(); err != nil {
				return err
			}
		}
	}
	h := make(termHeap, 0, len(inputs))
	for i, in := range inputs {
		ok, err := in.advance()
		if err != nil {
			return err
		}
		if ok {
			h.push(termRef{in, i})
		}
	}
	var term []byte
	for len(h) > 0 {
		term = append(term[:0], h[0].in.term...)
		if err := out.add(term); err != nil {
			return err
		}
		if out.n > maxTerms {
			return errTooManyTerms
		}
		for len(h) > 0 && string(h[0].in.term) == string(term) {
			if err := h[0].in.ords.add(uint32(out.n - 1)); err != nil {
				return err
			}
			ok, err := h[0].in.advance()
			if err != nil {
				return err
			}
			h.fix(ok)
		}
	}
	for _, in := range inputs {
		if err := in.ords.finish(); err != nil {
			return err
		}
	}
	return nil
}
