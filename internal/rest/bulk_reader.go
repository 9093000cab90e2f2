package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// bulkOp is what an operation of a bulk request does.
type bulkOp string

const (
	bulkIndex  bulkOp = "index"
	bulkCreate bulkOp = "create"
	bulkUpdate bulkOp = "update"
	bulkDelete bulkOp = "delete"
)

// bulkItem is one operation of a bulk request.
type bulkItem struct {
	op bulkOp
	bulkMeta
	source []byte // nil for delete; valid until the next item is read
}

// bulkMeta is the object in a line of an operation.
type bulkMeta struct {
	Index         string
	ID            *idText
	Routing       string
	IfSeqNo       *uint64
	IfPrimaryTerm *uint64
	Version       *uint64
	VersionType   string
	Retry         int
	RequireAlias  bool
	OpType        string
}

// members are the fields by key.
func (m *bulkMeta) members() map[string]any {
	return map[string]any{
		"_index": &m.Index, "_id": &m.ID, "routing": &m.Routing, "if_seq_no": &m.IfSeqNo, "if_primary_term": &m.IfPrimaryTerm,
		"version": &m.Version, "version_type": &m.VersionType, "retry_on_conflict": &m.Retry, "require_alias": &m.RequireAlias, "op_type": &m.OpType,
	}
}

// idText is a text or a number.
type idText string

// UnmarshalJSON implements json.Unmarshaler.
func (id *idText) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		*id = idText(text)
		return err
	}
	var number json.Number
	if err := json.Unmarshal(raw, &number); err != nil {
		return fmt.Errorf("the id %.40s is neither a text nor a number", raw)
	}
	*id = idText(number)
	return nil
}

// bulkReader reads NDJSON: a line of an operation, and a line of a document unless it deletes.
type bulkReader struct {
	lines *bufio.Reader
	limit int // of a line
	line  int // number of the last line, from 1
}

func newBulkReader(r io.Reader, limit int) *bulkReader {
	const buffer = 64 << 10
	return &bulkReader{lines: bufio.NewReaderSize(r, buffer), limit: limit}
}

var errLongLine = errors.New("too long")

func (b *bulkReader) longLine() error {
	return fmt.Errorf("a line has at most %d bytes: the line is %w", b.limit, errLongLine)
}

// readLine returns a line without its end, valid until the next read; io.EOF after the last.
func (b *bulkReader) readLine() ([]byte, error) {
	b.line++
	line, err := b.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = b.lines.ReadSlice('\n')
			long = append(long, line...)
			if len(long) > b.limit {
				return nil, b.longLine()
			}
		}
		line = long
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case err != nil && len(line) == 0:
		return nil, io.EOF
	case len(line) > b.limit:
		return nil, b.longLine()
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

// next returns io.EOF after the last operation. An error that is errBadBulk is of the text, others are of reading.
func (b *bulkReader) next() (item bulkItem, err error) {
	var line []byte
	for len(line) == 0 {
		if line, err = b.readLine(); err != nil {
			return item, b.located(err)
		}
		line = bytes.TrimSpace(line)
	}
	if err := item.parse(line); err != nil {
		return item, b.located(badBulk{err})
	}
	if item.op == bulkDelete {
		return item, nil
	}
	item.source, err = b.readLine()
	switch {
	case errors.Is(err, io.EOF):
		return item, b.located(badBulk{errors.New("the document of the last operation is missing")})
	case err != nil:
		return item, b.located(err)
	case len(bytes.TrimSpace(item.source)) == 0:
		return item, b.located(badBulk{errors.New("the document is an empty line")})
	}
	return item, nil
}

var errBadBulk = errors.New("malformed bulk request")

// badBulk is errBadBulk, with a text of its own.
type badBulk struct{ error }

func (badBulk) Is(target error) bool { return target == errBadBulk }

func (b *bulkReader) located(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errBadBulk) {
		return io.EOF
	}
	return fmt.Errorf("line [%d]: %w", b.line, err)
}

// parse reads the line of an operation.
func (item *bulkItem) parse(line []byte) error {
	if item.parseShort(string(line)) {
		return nil
	}
	if fault := faultOf(line); fault != nil {
		return fmt.Errorf("Malformed action/metadata line: %w", fault) //nolint:staticcheck // begins as OpenSearch's does
	}
	ops, err := decodeObject(line)
	if err != nil {
		return fmt.Errorf("Malformed action/metadata line: %s", jsonReason(err)) //nolint:staticcheck // begins as OpenSearch's does
	}
	if len(ops) != 1 {
		return errors.New("Malformed action/metadata line: want one of [create, delete, index, update]") //nolint:staticcheck // begins as OpenSearch's does
	}
	for op, raw := range ops {
		switch item.op = bulkOp(op); item.op {
		case bulkIndex, bulkCreate, bulkUpdate, bulkDelete:
		default:
			return fmt.Errorf("Malformed action/metadata line: unknown operation [%.40s], want one of [create, delete, index, update]", op) //nolint:staticcheck // begins as OpenSearch's does
		}
		if raw[0] != '{' {
			return fmt.Errorf("Malformed action/metadata line: [%s] is not an object", op) //nolint:staticcheck // begins as OpenSearch's does
		}
		if fault := decodeMembers(line, raw, item.members()); fault != nil {
			return fmt.Errorf("Malformed action/metadata line: %w", fault) //nolint:staticcheck // begins as OpenSearch's does
		}
	}
	if item.op == bulkIndex && item.OpType == "create" {
		item.op = bulkCreate
	} else if item.OpType != "" && item.OpType != string(item.op) {
		return fmt.Errorf("op_type [%.40s] of operation [%s]", item.OpType, item.op)
	}
	return nil
}

// parseShort reads the usual lines: no space but after a colon or a comma, no escapes, and no keys but
// _index and _id. It reports whether it did; else it changes nothing.
func (item *bulkItem) parseShort(line string) bool {
	s := shortLine{rest: line}
	op := bulkOp(s.key('{'))
	var meta bulkMeta
	for first := byte('{'); !s.bad && s.rest != "}}"; first = ',' {
		switch key, value := s.key(first), s.text(); {
		case key == "_index" && meta.Index == "" && value != "":
			meta.Index = value
		case key == "_id" && meta.ID == nil:
			meta.ID = (*idText)(&value)
		default:
			return false
		}
	}
	switch op {
	case bulkIndex, bulkCreate, bulkUpdate, bulkDelete:
	default:
		return false
	}
	if s.bad || meta.ID == nil {
		return false
	}
	item.op, item.bulkMeta = op, meta
	return true
}

// shortLine is the rest of a line; bad if it is not of the form that parseShort reads.
type shortLine struct {
	rest string
	bad  bool
}

// key reads before, a text and a colon.
func (s *shortLine) key(before byte) string {
	s.take(before)
	key := s.text()
	s.take(':')
	return key
}

func (s *shortLine) take(c byte) {
	if s.rest == "" || s.rest[0] != c {
		s.bad = true
		return
	}
	s.rest = s.rest[1:]
	if c != '{' && s.rest != "" && s.rest[0] == ' ' {
		s.rest = s.rest[1:]
	}
}

// text reads printable ASCII between quotes.
func (s *shortLine) text() string {
	for i := 1; i < len(s.rest) && s.rest[0] == '"'; i++ {
		switch c := s.rest[i]; {
		case c == '"':
			text := s.rest[1:i]
			s.rest = s.rest[i+1:]
			return text
		case c < ' ' || c >= 0x7f || c == '\\':
			s.bad = true
			return ""
		}
	}
	s.bad = true
	return ""
}
