package base

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Located is an error in a part of a JSON text.
type Located struct {
	// Value is the part, in the memory of the text.
	Value []byte
	Err   error
}

func (l *Located) Error() string { return l.Err.Error() }

// Unwrap returns Err.
func (l *Located) Unwrap() error { return l.Err }

// Locate adds the part of a JSON text to an error, which can have a part of that part already. err may be nil.
func Locate(err error, value []byte) error {
	if err == nil || len(value) == 0 {
		return err
	}
	return &Located{Value: value, Err: err}
}

// Places returns the parts of an error, the inner ones first.
func Places(err error) (values [][]byte) {
	var located *Located
	for errors.As(err, &located) {
		values = append(values, located.Value)
		err = located.Err
	}
	slices.Reverse(values)
	return values
}

// Member is a key of a JSON object and its value, in the memory of the object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the members of an object in their order. The error wraps ErrBadInput.
func Members(raw []byte) ([]Member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("want an object, have %s: %w", shortened(raw), ErrBadInput)
	}
	var out []Member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, ErrBadInput)
		}
		m := Member{Name: t.(string)} // keys are strings
		if slices.ContainsFunc(out, func(o Member) bool { return o.Name == m.Name }) {
			return nil, fmt.Errorf("[%s] is given twice: %w", m.Name, ErrBadInput)
		}
		if m.Value, err = next(d, raw); err != nil {
			return nil, fmt.Errorf("[%s]: %w: %w", m.Name, err, ErrBadInput)
		}
		out = append(out, m)
	}
	return out, end(d)
}

// Elements returns the values of a list, in its memory. The error wraps ErrBadInput.
func Elements(raw []byte) ([]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("want a list, have %s: %w", shortened(raw), ErrBadInput)
	}
	out := []json.RawMessage{}
	for d.More() {
		value, err := next(d, raw)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, ErrBadInput)
		}
		out = append(out, value)
	}
	return out, end(d)
}

// next returns the next value that d reads from raw.
func next(d *json.Decoder, raw []byte) (json.RawMessage, error) {
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	after := int(d.InputOffset())
	return raw[after-len(value) : after : after], nil
}

// end reads the closing bracket, and nothing after it.
func end(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrBadInput)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("there is text after the value: %w", ErrBadInput)
	}
	return nil
}

func shortened(raw []byte) string {
	const most = 60
	raw = bytes.TrimSpace(raw)
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}
