package rest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var jsonTexts = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `truex`, `0`, `-0`, `-`, `01`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+5`, `1e-05`, `1e+`, `--1`, `+1`,
	`""`, `"`, `"a`, `"\"`, `"\\"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\u12"`, `"\u12g4"`, `"\x"`, "\"\n\"", "\"\x00\"",
	"\"\x7f\"", "\"\x80\xff\"", `"0123456789abcdef\n0123456789"`, "\"0123456\x1f\"", `"\b\f\n\r\t\/\""`,
	`{}`, `[]`, `[1,2]`, `[1,]`, `[,]`, `[1 2]`, `[`, `]`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a" : [ { "b":null } , "c" ] }`, ` {"a":1} `, `{"a":1}x`, `[[]]`, `{"a":{"a":{}}}`,
	`{"a":1,"a":1}`, `{"a":1,"\u0061":1}`, `{"a":{"b":[{"c":1,"d":2,"c":3}]}}`, `{"a":{"b":1},"c":{"b":1},"b":1}`, `[{"a":1},{"a":1}]`, `{"":1,"":1}`,
	manyKeys(40, 41), manyKeys(40, 0), manyKeys(40, 38), manyKeys(12, 5), manyKeys(13, 5),
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
}

// manyKeys is an object of n keys and again, if there is one, key number twice.
func manyKeys(n, twice int) string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"k%d":%[1]d`, i))
	}
	if twice < n {
		keys = append(keys, keys[twice])
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func TestValidJSON(t *testing.T) {
	same := func(text string) {
		t.Helper()
		// The options of jsontext accept unpaired surrogates, as encoding/json does, but also bytes that are not UTF-8.
		want := json.Valid([]byte(text)) && utf8.ValidString(text) && jsontext.Value(text).IsValid(jsontext.AllowInvalidUTF8(true))
		if got := validJSON([]byte(text)); got != want {
			t.Errorf("%.80q: valid is %v, want %v", text, got, want)
		}
	}
	const bytes = "\"\\{}[]:,0e-. \n\x00\x1fu9aé"
	rng := rand.New(rand.NewPCG(1, 2))
	for _, text := range jsonTexts {
		same(text)
		if len(text) > 100 {
			continue
		}
		for range 200 {
			b := []byte(text + jsonTexts[rng.IntN(20)])
			for range 1 + rng.IntN(3) {
				if len(b) > 0 {
					b[rng.IntN(len(b))] = bytes[rng.IntN(len(bytes))]
				}
			}
			same(string(b))
		}
	}
}

func TestUnquote(t *testing.T) {
	texts := jsonTexts
	rng := rand.New(rand.NewPCG(1, 3))
	parts := []string{`a`, `é`, `\"`, `\\`, `\n`, `\u0041`, `\ud83d`, `\ude00`, `\uD83D\uDE00`, `\u00E9`, `0123456789`}
	for range 2000 {
		text := `"`
		for range rng.IntN(6) {
			text += parts[rng.IntN(len(parts))]
		}
		texts = append(texts, text+`"`)
	}
	for _, raw := range texts {
		var want string
		if !strings.HasPrefix(raw, `"`) || strings.Contains(raw, "\x80") || json.Unmarshal([]byte(raw), &want) != nil {
			continue
		}
		if got := unquote(raw); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// The usual lines are read without encoding/json, with the same result.
func TestShortLines(t *testing.T) {
	for line, short := range map[string]bool{
		`{"index":{"_id":"1"}}`:                              true,
		`{"index": {"_index": "wiki", "_id": "1"}}`:          true,
		`{"create":{"_id":"a b/c","_index":"wiki"}}`:         true,
		`{"delete":{"_id":"1"}}`:                             true,
		`{"update":{"_id":""}}`:                              true,
		`{"index":{}}`:                                       false,
		`{"index":{"_index":"wiki"}}`:                        false,
		`{"index":{"_id":1}}`:                                false,
		`{"index":{"_id":"1","_id":"2"}}`:                    false,
		`{"index":{"_id":"\u0031"}}`:                         false,
		`{"index":{"_id":"é"}}`:                              false,
		`{"index":{"_id":"1","if_seq_no":1}}`:                false,
		`{ "index" : { "_id" : "1" } }`:                      false,
		`{"other":{"_id":"1"}}`:                              false,
		`{"index":{"_id":"1"}} `:                             false,
		`{"index":{"_id":"1"}`:                               false,
		`{"index":{"_id":"1"},"delete":{"_id":"1"}}`:         false,
		`{"index":{"_id":"1",}}`:                             false,
		`{"index":{,"_id":"1"}}`:                             false,
		`{"index":{"_id":"1"}}}`:                             false,
		`{"index"{"_id":"1"}}`:                               false,
		`{"index":{"_id":"1"}}{"index":{"_id":"1"}}`:         false,
		"{\"index\":{\"_id\":\"\t\"}}":                       false,
		`{"index":{"_id":"1","_index":"a","_index":"wiki"}}`: false,
	} {
		var item, want bulkItem
		if got := item.parseShort(line); got != short {
			t.Errorf("%s: %v", line, got)
		}
		if !short {
			if !reflect.DeepEqual(item, want) {
				t.Errorf("%s: changed the item to %+v", line, item)
			}
			continue
		}
		// With a space before the end, the line is not short.
		if err := want.parse([]byte(strings.TrimSuffix(line, "}") + " }")); err != nil || !reflect.DeepEqual(item, want) {
			t.Errorf("%s: %+v, want %+v, %v", line, item, want, err)
		}
	}
}
