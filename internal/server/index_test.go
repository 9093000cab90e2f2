package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin"
)

func TestRealIndex(t *testing.T) {
	h, err := New(Options{Index: browserIndex(t), Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"q=server+handler":                      "net/http/server.txt effective-go.txt context.txt",
		"q=server+handler&mode=and":             "net/http/server.txt",
		"q=server+xylophone&mode=and%2Bor&k=1":  "effective-go.txt",
		"q=%22outgoing+calls%22":                "context.txt",
		"q=title:context":                       "context.txt",
		"q=%2Bserver+-handler+-context":         "effective-go.txt",
		"q=xylophone":                           "",
		"q=server+handler&k=1&offset=2&trace=1": "context.txt",
	} {
		t.Run(query, func(t *testing.T) {
			w := get(t, h, "/search?"+query)
			var got searchResponse
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
				t.Errorf("%s: status %d, %v: %s", query, w.Code, err, w.Body)
				return
			}
			var ids []string
			for _, hit := range got.Hits {
				ids = append(ids, hit.ID)
				if hit.Snippet == "" || hit.Score <= 0 {
					t.Errorf("%s: hit %+v", query, hit)
				}
			}
			if strings.Join(ids, " ") != want {
				t.Errorf("%s found %q, want %q", query, ids, want)
			}
			if (got.Trace != nil) != strings.Contains(query, "trace=1") {
				t.Errorf("%s: trace %v", query, got.Trace)
			}
		})
	}
}

// Texts that break parsers may be rejected, but cause no panic, hang or internal error.
func TestHostileQueries(t *testing.T) {
	h, err := New(Options{Index: browserIndex(t), Logger: quiet(), MaxQueryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"deep parentheses":   strings.Repeat("(", 100000) + "server" + strings.Repeat(")", 100000),
		"unclosed":           strings.Repeat("(", 4000),
		"closed only":        strings.Repeat(")", 4000),
		"operators":          strings.Repeat("+-^:\"", 2000),
		"one megabyte":       strings.Repeat("server ", 149796),
		"one long word":      strings.Repeat("a", 1<<20),
		"many words":         manyWords(20000),
		"long phrase":        `"` + manyWords(5000) + `"`,
		"NULs":               "ser\x00ver\x00",
		"control characters": "\x01\x1b[31mserver\r\n",
		"huge boost":         "server^1e308",
		"negative boost":     "server^-1",
		"NaN boost":          "server^NaN",
		"right to left":      "\u202eserver\u202c \u2066handler",
		"combining":          "s" + strings.Repeat("\u0301", 5000),
		"not only":           "-server -handler",
		"stop words":         "the and of",
		"blank":              "   ",
		"quotes":             strings.Repeat(`"`, 4001),
		"backslashes":        strings.Repeat(`\`, 4001),
	} {
		t.Run(name, func(t *testing.T) {
			for _, target := range []string{"/search?mode=and%2Bor&q=", "/?q="} {
				if w := get(t, h, target+url.QueryEscape(text)); w.Code >= 500 {
					t.Errorf("%s: %s: status %d: %.200s", name, target, w.Code, w.Body)
				}
			}
		})
	}
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("w")
		b.WriteString(formatCount(i))
		b.WriteByte(' ')
	}
	return b.String()
}

// Over real connections, while documents are added.
func TestConcurrentSearches(t *testing.T) {
	ix := browserIndex(t)
	h, err := New(Options{Index: ix, Logger: quiet(), MaxConcurrent: 100})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 25 {
				resp, err := http.Get(srv.URL + "/search?q=hostile")
				if err != nil {
					t.Error(err)
					return
				}
				var got searchResponse
				err = json.NewDecoder(resp.Body).Decode(&got)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || len(got.Hits) != 2 {
					t.Errorf("%s, %v, %d hits", resp.Status, err, len(got.Hits))
				}
			}
		})
	}
	for i := range 5 {
		if err := ix.Add(t.Context(), griffin.Document{ID: formatCount(i), Text: "another server"}); err != nil {
			t.Error(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
