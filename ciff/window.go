package ciff

import (
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

const windowBytes = 256 << 10

// A buffered stream.
type window struct {
	r    io.Reader
	buf  []byte // read but not consumed
	base int64  // number of bytes consumed, in all buffers
	back []byte // memory of buf
	err  error  // error that ended the stream
}

func (w *window) offset() int64 { return w.base }

// buf then has at least n bytes, or all that remain.
func (w *window) ensure(n int) {
	if len(w.buf) >= n || w.err != nil {
		return
	}
	if cap(w.back) < n || w.back == nil {
		w.back = make([]byte, max(n, windowBytes))
	}
	have := copy(w.back[:cap(w.back)], w.buf)
	for idle := 0; have < n && w.err == nil; {
		m, err := w.r.Read(w.back[have:cap(w.back)])
		have += m
		if w.err = err; m > 0 {
			idle = 0
		} else if idle++; err == nil && idle > 100 {
			w.err = io.ErrNoProgress
		}
	}
	w.buf = w.back[:have]
}

func (w *window) use(n int) { w.buf, w.base = w.buf[n:], w.base+int64(n) }

func (w *window) more() bool {
	w.ensure(1)
	return len(w.buf) > 0
}

func (w *window) short() error {
	if errors.Is(w.err, io.EOF) || w.err == nil {
		return io.ErrUnexpectedEOF
	}
	return w.err
}

func (w *window) failed(where string, err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)
	case w.err != nil && errors.Is(err, w.err):
		return fmt.Errorf("ciff: byte %d: %s: %w", w.offset(), where, err)
	}
	return fmt.Errorf("ciff: byte %d: %s: %w: %w", w.offset(), where, ErrInvalid, err)
}

func (w *window) uvarint() (uint64, error) {
	if len(w.buf) < 10 {
		w.ensure(10)
	}
	v, n := protowire.ConsumeVarint(w.buf)
	if n < 0 {
		if len(w.buf) < 10 {
			return 0, w.short()
		}
		return 0, protowire.ParseError(n)
	}
	w.use(n)
	return v, nil
}

func (w *window) length() (int64, error) {
	v, err := w.uvarint()
	if err != nil {
		return 0, err
	}
	if v > math.MaxInt32 { // the limit of protocol buffers
		return 0, fmt.Errorf("a message of %d bytes", v)
	}
	return int64(v), nil
}

// Valid until the next call.
func (w *window) next(n int) ([]byte, error) {
	if len(w.buf) < n {
		if w.ensure(n); len(w.buf) < n {
			return nil, w.short()
		}
	}
	b := w.buf[:n]
	w.use(n)
	return b, nil
}

// At most limit bytes, valid until the next call.
func (w *window) message(limit int64) ([]byte, error) {
	n, err := w.length()
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("a message of %d bytes, at most %d are allowed", n, limit)
	}
	return w.next(int(n))
}

func (w *window) skip(n int64) error {
	for n > 0 {
		w.ensure(1)
		if len(w.buf) == 0 {
			return w.short()
		}
		m := min(int64(len(w.buf)), n)
		w.use(int(m))
		n -= m
	}
	return nil
}

func (w *window) tag() (protowire.Number, protowire.Type, error) {
	v, err := w.uvarint()
	if err != nil {
		return 0, 0, err
	}
	num, typ := protowire.DecodeTag(v)
	if num < protowire.MinValidNumber {
		return 0, 0, errors.New("an invalid field number")
	}
	return num, typ, nil
}

func (w *window) varint(typ protowire.Type) (int64, error) {
	if typ != protowire.VarintType {
		return 0, errType
	}
	v, err := w.uvarint()
	return int64(v), err
}

// At most limit bytes.
func (w *window) bytes(typ protowire.Type, limit int64) ([]byte, error) {
	if typ != protowire.BytesType {
		return nil, errType
	}
	return w.message(limit)
}

// A bytes field of less than 128 bytes with the given tag; nil if the buffer does not begin
// with the whole field.
func (w *window) shortBytes(tag byte) []byte {
	if b := w.buf; len(b) >= 2 && b[0] == tag && int(b[1]) < min(0x80, len(b)-1) {
		end := 2 + int(b[1])
		w.use(end)
		return b[2:end:end]
	}
	return nil
}

func (w *window) unknown(num protowire.Number, typ protowire.Type, end int64) error {
	var n int64
	switch typ {
	case protowire.VarintType:
		_, err := w.uvarint()
		return err
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		var err error
		if n, err = w.length(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("field %d: %w", num, errType)
	}
	if w.offset()+n > end {
		return errors.New("a field goes past the end of the message")
	}
	return w.skip(n)
}

var errType = errors.New("a field has the wrong type")

type value struct {
	typ protowire.Type
	num uint64 // of varints and fixed numbers
	b   []byte // of bytes
}

func fields(b []byte, f func(protowire.Number, value) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		v := value{typ: typ}
		switch typ {
		case protowire.VarintType:
			v.num, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v.num, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v.b, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := f(num, v); err != nil {
			return fmt.Errorf("field %d: %w", num, err)
		}
	}
	return nil
}

// The value must be from 0 to limit.
func (v value) int(to *int64, limit int64) error {
	if v.typ != protowire.VarintType {
		return errType
	}
	if *to = int64(v.num); *to < 0 || *to > limit {
		return fmt.Errorf("the number %d is out of range", *to)
	}
	return nil
}

func (v value) int32(to *int32) error {
	var wide int64
	err := v.int(&wide, math.MaxInt32)
	*to = int32(wide)
	return err
}

func (v value) double(to *float64) error {
	if v.typ != protowire.Fixed64Type {
		return errType
	}
	*to = math.Float64frombits(v.num)
	return nil
}

func (v value) string(to *string) error {
	if v.typ != protowire.BytesType {
		return errType
	}
	if !utf8.Valid(v.b) {
		return errors.New("not UTF-8")
	}
	*to = string(v.b)
	return nil
}
