package corpus

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// With Any, a record needs a field besides its id.
func TestMappedAny(t *testing.T) {
	opts := (Options{Mapped: &Mapped{Any: true}}).withDefaults()
	for line, good := range map[string]bool{`{"id":"1","size":5}`: true, `{"size":5}`: true, `{"id":"1"}`: false, `{"id":"1","title":"x"}`: true} {
		p := &jsonParser{builder: builder{opts: &opts, fileID: "f"}}
		if _, rec := p.parse([]byte(line), Location{File: "f", Line: 1}); (rec == nil) != good {
			t.Errorf("%s: %v", line, rec)
		}
	}
}

func TestMappedRecords(t *testing.T) {
	points := func(raw []byte) ([]string, error) {
		if strings.Contains(string(raw), "bad") {
			return nil, errors.New("not a point")
		}
		return strings.Fields(strings.NewReplacer("[", " ", "]", " ", "{", " ", "}", " ").Replace(string(raw))), nil
	}
	opts := (Options{Mapped: &Mapped{
		Names: map[string]bool{"id": true, "title": true, "text": true, "size": true, "at": true, "o.at": true},
		Nulls: map[string]string{"size": "-1", "text": "none"},
		Whole: map[string]func([]byte) ([]string, error){"at": points, "o.at": points},
	}}).withDefaults()
	for _, c := range []struct{ line, want string }{
		{`{"id":"1","title":"T","text":"x","other":"y"}`, "1 T/x id=1 text=x other=y"},
		{`{"id":"1","size":5}`, "1 / id=1 size=5"},
		{`{"id":"1","size":null}`, "1 / id=1 size=-1"},
		{`{"id":"1","size":[1,null,2]}`, "1 / id=1 size=1 size=-1 size=2"},
		{`{"id":"1","text":null}`, "1 /none id=1 text=none"},
		{`{"id":"1","other":null,"size":1}`, "1 / id=1 size=1"},
		{`{"id":"1","at":"a,b"}`, "1 / id=1 at=a,b"},
		{`{"id":"1","at":{"lat":1,"lon":2}}`, `1 / id=1 at="lat":1,"lon":2`},
		{`{"id":"1","at":[1,2]}`, "1 / id=1 at=1,2"},
		{`{"id":"1","at":[]}`, "1 / id=1"},
		{`{"id":"1","o":[{"at":[1,2]},{"at":"c"}]}`, "1 / id=1 o.at=1,2 o.at=c"},
		{`{"id":"1","at":["bad"]}`, `field "at": not a point`},
		{`{"other":"y"}`, "neither a title nor a text"},
	} {
		p := &jsonParser{builder: builder{opts: &opts, fileID: "f"}}
		d, rec := p.parse([]byte(c.line), Location{File: "f", Line: 1})
		if rec != nil {
			if !errors.Is(rec, base.ErrBadInput) || !strings.Contains(rec.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.line, rec, c.want)
			}
			continue
		}
		got := fmt.Sprintf("%s %s/%s", d.ID, d.Title, d.Text)
		for _, f := range d.Extra {
			got += fmt.Sprintf(" %s=%s", f.Name, f.Value)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}
