package segment

import (
	"encoding/binary"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
)

// Terms must arrive by field and term bytes.
type dictionaryWriter struct {
	terms, records *sealed.Writer
	table          []byte
	numPartitions  int

	// The current partition.
	fst      *fstBuilder
	field    base.FieldID
	first    []byte
	numTerms uint64
	keyBytes int
	recOff   uint64 // offset of its first record
	buf      []byte
}

func newDictionaryWriter(terms, records *sealed.Writer) *dictionaryWriter {
	return &dictionaryWriter{terms: terms, records: records, fst: newFSTBuilder()}
}

func (w *dictionaryWriter) add(field base.FieldID, term []byte, m *postings.Meta) error {
	if w.numTerms > 0 && (field != w.field || w.numTerms >= partitionTerms || w.keyBytes+len(term) > partitionKeyBytes) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.numTerms == 0 {
		w.begin(field, term)
	}
	if err := w.fst.insert(term, w.records.Offset()-w.recOff); err != nil {
		return err
	}
	w.numTerms++
	w.keyBytes += len(term)
	w.buf = m.Append(w.buf[:0])
	_, err := w.records.Write(w.buf)
	return err
}

func (w *dictionaryWriter) begin(field base.FieldID, term []byte) {
	w.fst.reset()
	w.field, w.first = field, append(w.first[:0], term...)
	w.keyBytes, w.recOff = 0, w.records.Offset()
}

func (w *dictionaryWriter) flush() error {
	if w.numTerms == 0 {
		return nil
	}
	fst := w.fst.finish()
	w.numPartitions++
	w.table = binary.AppendUvarint(w.table, uint64(w.field))
	w.table = binary.AppendUvarint(w.table, uint64(len(fst)))
	w.table = binary.AppendUvarint(w.table, w.numTerms)
	w.table = binary.AppendUvarint(w.table, w.records.Offset()-w.recOff)
	w.table = binary.AppendUvarint(w.table, uint64(len(w.first)))
	w.table = append(w.table, w.first...)
	w.numTerms = 0
	_, err := w.terms.Write(fst)
	return err
}

// The caller closes the files.
func (w *dictionaryWriter) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	table := append(binary.AppendUvarint(nil, uint64(w.numPartitions)), w.table...)
	_, err := w.terms.Write(binary.LittleEndian.AppendUint64(table, uint64(len(table))))
	return err
}
