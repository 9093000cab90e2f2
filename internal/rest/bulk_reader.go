package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
	source []byte // nil for delete; the caller owns it
}

// bulkMeta is the object in a line of an operation.
type bulkMeta struct {
	Index         string  `json:"_index"`
	ID            *idText `json:"_id"`
	Routing       string  `json:"routing"`
	IfSeqNo       *uint64 `json:"if_seq_no"`
	IfPrimaryTerm *uint64 `json:"if_primary_term"`
	Version       *uint64 `json:"version"`
	VersionType   string  `json:"version_type"`
	Retry         int     `json:"retry_on_conflict"`
	RequireAlias  bool    `json:"require_alias"`
	OpType        string  `json:"op_type"`
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

var errLongLine = errors.New("the line is too long")

// readLine returns a line without its end, valid until the next read unless it is a copy; io.EOF after
// the last.
func (b *bulkReader) readLine(copied bool) ([]byte, error) {
	b.line++
	line, err := b.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = b.lines.ReadSlice('\n')
			long = append(long, line...)
			if len(long) > b.limit {
				return nil, errLongLine
			}
		}
		line, copied = long, false
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case err != nil && len(line) == 0:
		return nil, io.EOF
	case len(line) > b.limit:
		return nil, errLongLine
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if copied {
		line = bytes.Clone(line)
	}
	return line, nil
}

// next returns io.EOF after the last operation. An error that wraps errBadBulk is of the text, others
// are of reading.
func (b *bulkReader) next() (item bulkItem, err error) {
	var line []byte
	for len(line) == 0 {
		if line, err = b.readLine(false); err != nil {
			return item, b.located(err)
		}
		line = bytes.TrimSpace(line)
	}
	if err := item.parse(line); err != nil {
		return item, b.located(fmt.Errorf("%w: %w", err, errBadBulk))
	}
	if item.op == bulkDelete {
		return item, nil
	}
	item.source, err = b.readLine(true)
	switch {
	case errors.Is(err, io.EOF):
		return item, b.located(fmt.Errorf("the document of the last operation is missing: %w", errBadBulk))
	case err != nil:
		return item, b.located(err)
	case len(bytes.TrimSpace(item.source)) == 0:
		return item, b.located(fmt.Errorf("the document is an empty line: %w", errBadBulk))
	}
	return item, nil
}

var errBadBulk = errors.New("malformed bulk request")

func (b *bulkReader) located(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errBadBulk) {
		return io.EOF
	}
	return fmt.Errorf("line [%d]: %w", b.line, err)
}

func (item *bulkItem) parse(line []byte) error {
	var ops map[bulkOp]json.RawMessage
	if err := json.Unmarshal(line, &ops); err != nil {
		return fmt.Errorf("Malformed action/metadata line: %w", err) //nolint:staticcheck // begins as OpenSearch's does
	}
	if len(ops) != 1 {
		return errors.New("Malformed action/metadata line: want one of [create, delete, index, update]") //nolint:staticcheck // begins as OpenSearch's does
	}
	for op, raw := range ops {
		switch item.op = op; op {
		case bulkIndex, bulkCreate, bulkUpdate, bulkDelete:
		default:
			return fmt.Errorf("Malformed action/metadata line: unknown operation [%.40s], want one of [create, delete, index, update]", op) //nolint:staticcheck // begins as OpenSearch's does
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if raw[0] != '{' {
			return fmt.Errorf("Malformed action/metadata line: [%s] is not an object", op) //nolint:staticcheck // begins as OpenSearch's does
		}
		if err := d.Decode(&item.bulkMeta); err != nil {
			return fmt.Errorf("Malformed action/metadata line: %s", strings.TrimPrefix(err.Error(), "json: ")) //nolint:staticcheck // begins as OpenSearch's does
		}
	}
	if item.op == bulkIndex && item.OpType == "create" {
		item.op = bulkCreate
	} else if item.OpType != "" && item.OpType != string(item.op) {
		return fmt.Errorf("op_type [%.40s] of operation [%s]", item.OpType, item.op)
	}
	return nil
}
