package mapping

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestVector(t *testing.T) {
	for _, test := range []struct {
		value string
		scale float64
		want  []TokenWeight
		err   string
	}{
		{value: `{}`},
		{value: `{"b": 2, "a": 0.005, "c": 0.0049, "##\u00e9": 1e-1}`, want: []TokenWeight{{"b", 200}, {"a", 1}, {"##é", 10}}},
		{value: ` {"a": 1.26} `, scale: 10, want: []TokenWeight{{"a", 13}}},
		{value: `{"a": 655.35}`, want: []TokenWeight{{"a", 65535}}},
		{value: `{"a": 655.36}`, err: `token "a": the weight 655.36 times the weight_scale 100 passes 65535`},
		{value: `{"a": 65536}`, scale: 0.5, want: []TokenWeight{{"a", 32768}}},
		{value: `{"a": -1}`, err: `token "a": the weight -1 is not 0 or more`},
		{value: `{"a": 1e999}`, err: "1e999"},
		{value: `{"a": "1"}`, err: "is not a number"},
		{value: `{"a": {"b": 1}}`, err: "is not a number"},
		{value: `{"": 1}`, err: "a token of 0 bytes"},
		{value: `{"` + strings.Repeat("x", maxTokenBytes+1) + `": 1}`, err: "a token of 32769 bytes"},
		{value: `{"a": 1, "a": 2}`, err: "duplicate"},
		{value: `{"a": 1} x`, err: "bytes after"},
		{value: `{"a": 1`, err: "EOF"},
		{value: `["a"]`, err: "want an object"},
		{value: ``, err: "want an object"},
	} {
		f := &Field{Name: "f", Type: SparseVector, WeightScale: test.scale}
		got, err := f.Vector(test.value)
		switch {
		case test.err == "" && (err != nil || !reflect.DeepEqual(got, test.want)):
			t.Errorf("%.80s: %v, %v, want %v", test.value, got, err, test.want)
		case test.err != "" && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%.80s: %v, want %s", test.value, err, test.err)
		}
	}
}
