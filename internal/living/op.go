package living

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/wal"
)

// Kind is what an operation does.
type Kind uint8

const (
	// Index adds a document, or replaces the one of its id.
	Index Kind = iota
	// Create adds a document whose id must be new.
	Create
	// Delete deletes the document of an id.
	Delete
	// Declare adds the fields of the index only.
	Declare
)

// Unnumbered is Op.IfSeq for a document that no Store wrote.
const Unnumbered uint64 = math.MaxUint64

// ExternalZero is Op.External for the number 0.
const ExternalZero uint64 = math.MaxUint64

// Op is one write.
type Op struct {
	Kind Kind
	// Doc is not changed after Apply; of a Delete only its id counts. A Declare has none.
	Doc *corpus.Document
	// Fields are declared before the document is added, unless they are already. If the index cannot
	// have them, the operation fails.
	Fields []mapping.Field
	// Update changes fields that are declared, or fails if they cannot be changed so.
	Update bool
	// IfSeq, if not 0, is the Seq that the id's version must have. Unnumbered is for a document without one, which no
	// Store wrote.
	IfSeq uint64
	// External, if not 0, becomes the Number of the version. It must be higher than the Number
	// before, or at least equal with ExternalEqual. ExternalZero is for the number 0.
	External      uint64
	ExternalEqual bool
}

// Outcome is what an operation did.
type Outcome uint8

const (
	// Failed operations have an error.
	Failed Outcome = iota
	// Created a document.
	Created
	// Updated means replaced.
	Updated
	// Deleted a document.
	Deleted
	// NotFound means that there was no document to delete.
	NotFound
	// Declared means that the index has the fields.
	Declared
)

// Result is the result of an Op.
type Result struct {
	Outcome Outcome
	// Version of the id after the operation; after a conflict, the current one.
	Version segment.Version
	// Err wraps ErrConflict, or base.ErrBadInput if the document cannot be indexed.
	Err error
}

// entry is an Op on its way.
type entry struct {
	op     Op
	result *Result
	// payload has room for the largest number before body.
	payload []byte
	state   state // after it
	logged  bool
	schema  *inverter.Schema // after it
	checked *inverter.Schema // by which the document was checked
	// declares is the encoding (encodeFields) of the fields in op.Fields that it declares, nil for none.
	declares []byte
	typed    bool
	revises  bool // recordRevised
	marked   bool // of appendBody
}

// encoding is memory for the payloads of a request.
type encoding struct {
	payloads []byte
	shared   corpus.Shared
}

var encodings = sync.Pool{New: func() any { return new(encoding) }}

// release is called when no payload is needed any more.
func (m *encoding) release() {
	m.shared.Reset()
	if m.payloads = m.payloads[:0]; cap(m.payloads) <= 2*maxGroupBytes {
		encodings.Put(m)
	}
}

// encode prepares the record of the operation in m, but for the number of the version.
func (e *entry) encode(m *encoding) {
	if e.op.Kind == Declare {
		return
	}
	start := len(m.payloads)
	var number [binary.MaxVarintLen64]byte
	m.payloads = append(m.payloads, number[:]...)
	if e.op.Kind == Delete {
		m.payloads = appendText(m.payloads, e.op.Doc.ID)
	} else {
		m.payloads, e.marked = appendBody(m.payloads, e.op.Doc, &m.shared)
	}
	e.payload = m.payloads[start:len(m.payloads):len(m.payloads)]
}

func (e *entry) record() wal.Record {
	if e.op.Kind == Declare {
		kind := byte(recordFields)
		switch {
		case e.revises:
			kind = recordRevised
		case e.typed:
			kind = recordTyped
		}
		return wal.Record{Type: kind, Payload: e.declares}
	}
	var number [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(number[:], e.state.version.Number)
	from := binary.MaxVarintLen64 - n
	copy(e.payload[from:], number[:n])
	payload := e.payload[from:]
	if e.declares != nil {
		payload = append(e.declares, payload...)
	}
	return wal.Record{Type: e.recordType(), Payload: payload}
}

func (e *entry) recordType() byte {
	switch {
	case e.op.Kind == Delete:
		return recordDelete
	case e.declares == nil && e.marked:
		return recordMarked
	case e.declares == nil:
		return recordIndex
	case e.typed && e.marked:
		return recordTypedMarked
	case e.typed:
		return recordTypedIndex
	case e.marked:
		return recordFieldsMarked
	}
	return recordFieldsIndex
}

// decide checks the conditions of an operation against the state of its id, and sets the state
// after it and the result.
func (e *entry) decide(now state) (ok bool) {
	op, r := &e.op, e.result
	r.Version = now.version
	exists := now.doc != nil
	counted := exists || now.version.Seq != 0 // else the id is new
	external := op.External
	if external == ExternalZero {
		external = 0
	}
	switch {
	case op.Kind == Create && exists:
		return e.conflict("the document exists, with version %d", now.version.Number)
	case op.IfSeq == Unnumbered && (now.version.Seq != 0 || !exists):
		return e.conflict("the last write has the sequence number %d, not none", now.version.Seq)
	case op.IfSeq != 0 && op.IfSeq != Unnumbered && (op.IfSeq != now.version.Seq || !exists):
		return e.conflict("the last write has the sequence number %d, not %d", now.version.Seq, op.IfSeq)
	case op.External == 0 || !counted:
	case external == now.version.Number && !op.ExternalEqual:
		return e.conflict("the current version %d is not below %d", now.version.Number, external)
	case external < now.version.Number:
		return e.conflict("the current version %d is above %d", now.version.Number, external)
	}
	e.state.version = segment.Version{Number: now.version.Number}
	if now.version.Number < math.MaxInt64 { // the highest that OpenSearch's clients read
		e.state.version.Number++
	}
	if op.External != 0 {
		e.state.version.Number = external
	}
	switch {
	case op.Kind == Delete && exists:
		r.Outcome = Deleted
	case op.Kind == Delete:
		r.Outcome = NotFound
	case exists:
		r.Outcome, e.state.doc = Updated, op.Doc
	default:
		r.Outcome, e.state.doc = Created, op.Doc
	}
	return true
}

func (e *entry) conflict(format string, args ...any) bool {
	e.result.Err = fmt.Errorf("document %q: "+format+": %w", append(append([]any{e.op.Doc.ID}, args...), ErrConflict)...)
	return false
}

func (e *entry) fail(err error) {
	e.result.Outcome, e.result.Err = Failed, err
}

func checkID(id string) error {
	if id == "" {
		return fmt.Errorf("empty document id: %w", base.ErrBadInput)
	}
	return nil
}
