package collect

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// value reads a value of a Key of Values from its text.
func (k *Key) value(text string) (Value, error) {
	switch f := k.Field; {
	case f == nil:
		return Value{}, nil
	case k.isTerms():
		term, ok, err := f.Bytes(text)
		if !ok { // longer than ignore_above
			term = []byte(text)
		}
		return Value{Term: string(term)}, err
	case k.isReal():
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return Value{}, fmt.Errorf("%q is not a number: %w", text, base.ErrBadInput)
		}
		return Value{Number: mapping.EncodeDouble(v)}, nil
	case f.Type == mapping.Date:
		layout, err := k.layout()
		if err != nil {
			return Value{}, err
		}
		if millis, err := strconv.ParseInt(text, 10, 64); err == nil && k.Format == "" {
			return Value{Number: millis}, nil // as AppendJSON writes it
		}
		v, err := layout.Date(text, mapping.Clock{Now: time.Now()})
		return Value{Number: v}, err
	default:
		v, err := f.Number(text)
		return Value{Number: v}, err
	}
}

// layout is the field with the format of answers.
func (k *Key) layout() (*mapping.Field, error) {
	if k.Format == "" {
		return k.Field, nil
	}
	return k.Field.WithFormat(k.Format)
}

// ParseAfter reads the value of "search_after": the sort values of a hit, for each key one. Errors wrap
// base.ErrBadInput.
func ParseAfter(raw []byte, keys []Key) ([]Value, error) {
	list, err := base.Elements(raw)
	if err != nil {
		return nil, base.Locate(fmt.Errorf("[search_after] is %.60s: want a list: %w", raw, base.ErrBadInput), raw)
	}
	if len(list) != len(keys) {
		return nil, base.Locate(fmt.Errorf("[search_after] has %d value(s) but sort has %d: %w", len(list), len(keys), base.ErrBadInput), raw)
	}
	out := make([]Value, len(list))
	for i, raw := range list {
		v, err := keys[i].parseValue(raw)
		if err != nil {
			return nil, base.Locate(fmt.Errorf("[search_after] value %d: %s: %w", i, base.Message(err), base.ErrBadInput), raw)
		}
		out[i] = v
	}
	return out, nil
}

func (k *Key) parseValue(raw json.RawMessage) (Value, error) {
	if string(raw) == "null" {
		return Value{None: true}, nil
	}
	text, ok := scalar(raw)
	if !ok {
		return Value{}, fmt.Errorf("%.60s is no value", raw)
	}
	if k.By == Values {
		return k.value(text)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(v):
		return Value{}, fmt.Errorf("%q is not a number", text)
	case k.By == Distance:
		return Value{Number: mapping.EncodeDouble(v)}, nil
	case v < 0 || v > 1<<40:
		return Value{}, fmt.Errorf("%s is out of range", text)
	case k.By == Score:
		return Value{Number: int64(math.Round(v * (1 << base.ScoreFractionBits)))}, nil
	}
	return Value{Number: int64(v)}, nil
}

// AppendJSON appends the value as "sort" of a hit has it; ParseAfter reads it.
func (k *Key) AppendJSON(dst []byte, v Value) []byte {
	switch {
	case v.None || k.By == Values && k.Field == nil:
		return append(dst, "null"...)
	case k.By == Score:
		return strconv.AppendFloat(dst, base.Score(v.Number).Float64(), 'f', -1, 64)
	case k.By == Written:
		return strconv.AppendInt(dst, v.Number, 10)
	case k.By == Distance:
		return strconv.AppendFloat(dst, mapping.DecodeDouble(v.Number), 'g', -1, 64)
	case k.isTerms():
		return appendString(dst, string(k.Field.AppendBytes(nil, []byte(v.Term))))
	case k.isReal():
		return appendReal(dst, mapping.DecodeDouble(v.Number))
	case k.Field.Type.Real():
		return appendReal(dst, k.Field.Type.Float64(v.Number))
	case k.Field.Type == mapping.Date && k.Format != "":
		if layout, err := k.layout(); err == nil {
			return appendString(dst, string(layout.AppendNumber(nil, v.Number)))
		}
	case k.Field.Type == mapping.Boolean:
		return strconv.AppendBool(dst, v.Number != 0)
	}
	return strconv.AppendInt(dst, v.Number, 10)
}

// appendReal appends a number; infinities, which JSON lacks, as texts that ParseFloat reads.
func appendReal(dst []byte, v float64) []byte {
	if math.IsInf(v, 0) {
		return append(append(append(dst, '"'), strconv.FormatFloat(v, 'g', -1, 64)...), '"')
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

func appendString(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string has a JSON form
	return append(dst, text...)
}
