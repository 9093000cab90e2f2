package mapping

import (
	"reflect"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		kind byte
		text string
		want string
	}{
		{'"', "a text", "text+keyword"},
		{'"', "2024", "text+keyword"},
		{'"', "1700000000000", "text+keyword"},
		{'"', "2024-03", "date"},
		{'"', "2024-03-05", "date"},
		{'"', "2024-03-05T07:08:09.123Z", "date"},
		{'"', "2024-13-05", "text+keyword"},
		{'"', "2024-03-05 07:08", "text+keyword"},
		{'"', "2024/03/05", "date yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis"},
		{'"', "2024/03/05 07:08:09", "date yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis"},
		{'"', "2024/13/05", "text+keyword"},
		{'"', "1e5-000", "text+keyword"},
		{'"', "10.0.0.1", "text+keyword"},
		{'"', "true", "text+keyword"},
		{'0', "5", "long"},
		{'0', "-5", "long"},
		{'0', "5.0", "float"},
		{'0', "1e3", "float"},
		{'t', "true", "boolean"},
		{'f', "false", "boolean"},
		{'n', "null", ""},
	} {
		fields := Detect("f", c.kind, c.text)
		got := ""
		for i, f := range fields {
			if i > 0 {
				got += "+"
			}
			got += strings.TrimRight(f.Type.String()+" "+f.Format, " ")
		}
		if got != c.want {
			t.Errorf("%c %s: %s, want %s", c.kind, c.text, got, c.want)
		}
		m, err := New("", fields)
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			f, _ := m.Field("f")
			if err := f.Check(c.text); err != nil {
				t.Error(err)
			}
		}
	}
	want := []Field{{Name: "f"}, {Name: "f.keyword", Type: Keyword, Of: "f", IgnoreAbove: 256}}
	if got := Detect("f", '"', "x"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
