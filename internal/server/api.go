package server

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin"
)

type searchResponse struct {
	Query      string                          `json:"query"`  // as it was sent
	Parsed     string                          `json:"parsed"` // its canonical form
	Mode       griffin.Mode                    `json:"mode"`   // that gave the hits: and or or, if and+or was asked for
	Engine     string                          `json:"engine"` // griffin.Results.Engine
	K          int                             `json:"k"`
	Offset     int                             `json:"offset,omitempty"`
	TookMicros int64                           `json:"took_us"`
	Total      griffin.Total                   `json:"total"`
	Hits       []hitResponse                   `json:"hits"` // never null
	Facets     map[string][]griffin.FacetValue `json:"facets,omitempty"`
	Missed     float64                         `json:"missed,omitempty"` // griffin.Results.Missed
	Cached     bool                            `json:"cached,omitempty"` // griffin.Results.Cached
	Notes      []string                        `json:"notes,omitempty"`
	Trace      *griffin.Trace                  `json:"trace,omitempty"`
}

type hitResponse struct {
	Rank        int             `json:"rank"` // from 1; includes offset
	ID          string          `json:"id"`
	Score       float64         `json:"score"` // exact: a multiple of 2^-16
	Sort        json.RawMessage `json:"sort,omitempty"`
	Title       string          `json:"title,omitempty"`
	Snippet     string          `json:"snippet,omitempty"`      // plain text
	SnippetHTML string          `json:"snippet_html,omitempty"` // escaped, found words in <mark>
	Fields      []griffin.Field `json:"fields,omitempty"`
}

func (h *handler) search(w http.ResponseWriter, r *http.Request) {
	req, apiErr := h.parseRequest(r, true /* strict */)
	if apiErr == nil && req.Text == "" {
		apiErr = badParameter("parameter q, the query, is missing")
	}
	var results *griffin.Results
	if apiErr == nil {
		req.Memory, _ = formerResults.Get().(*griffin.Results)
		results, apiErr = h.run(r, req)
	}
	if apiErr != nil {
		h.fail(w, apiErr)
		return
	}
	to := newAnswerBuffer()
	response := searchResponse{
		Query: req.Text, Parsed: results.Query, Mode: results.Mode, Engine: results.Engine, K: req.K, Offset: req.Offset, TookMicros: results.Took.Microseconds(),
		Total: results.Total, Facets: results.Facets, Missed: results.Missed, Cached: results.Cached, Notes: results.Notes, Trace: results.Trace,
	}
	for i := range results.Hits {
		hit := &results.Hits[i]
		to.hits = append(to.hits, hitResponse{
			Rank: req.Offset + i + 1, ID: hit.ID, Score: hit.Score, Title: hit.Title, Sort: hit.Sort,
			Snippet: hit.Snippet.Text, SnippetHTML: snippetHTML(hit.Snippet), Fields: hit.Fields,
		})
	}
	response.Hits = to.hits
	var err error
	if to.bytes, err = response.appendJSON(to.bytes); err != nil {
		h.unencoded(w, err)
		return
	}
	writeBody(w, http.StatusOK, jsonType, to.bytes)
	if cap(results.Hits) <= maxKeptHits && results.Trace == nil {
		formerResults.Put(results)
	}
	if r.ProtoMajor == 1 { // the connection of HTTP/2 may still read a body that a client has given up
		to.release()
	}
}

// snippetHTML escapes the text and marks highlights with <mark>.
func snippetHTML(s griffin.Snippet) string {
	if s.Text == "" {
		return ""
	}
	const before, after = "<mark>", "</mark>"
	var b strings.Builder
	b.Grow(len(s.Text) + len(s.Highlights)*len(before+after))
	for text, highlighted := range s.Parts() {
		if highlighted {
			b.WriteString(before)
		}
		b.WriteString(html.EscapeString(text))
		if highlighted {
			b.WriteString(after)
		}
	}
	return b.String()
}

func (h *handler) fail(w http.ResponseWriter, e *apiError) {
	if announce(w, e) {
		h.writeJSON(w, e.Status, map[string]*apiError{"error": e})
	}
}

// announce sets the headers of an error; false if the client has left.
func announce(w http.ResponseWriter, e *apiError) bool {
	switch e.Status {
	case statusClientGone:
		if sw, ok := w.(*statusWriter); ok {
			sw.status = statusClientGone
		}
		return false
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusGatewayTimeout:
		w.Header().Set("Retry-After", strconv.FormatInt(int64(max(math.Ceil(e.retryAfter.Seconds()), 1)), 10))
	}
	return true
}

func (h *handler) writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // the headers forbid to treat it as HTML
	if err := enc.Encode(v); err != nil {
		h.unencoded(w, err)
		return
	}
	writeBody(w, status, jsonType, body.Bytes())
}

func (h *handler) unencoded(w http.ResponseWriter, err error) {
	h.Logger.Error("an answer cannot be encoded", "error", err)
	http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
}

// Content types, each in the memory that all answers share.
var (
	jsonType  = []string{"application/json; charset=utf-8"}
	plainType = []string{"text/plain; charset=utf-8"}
	svgType   = []string{"image/svg+xml"}
)

func writeBody(w http.ResponseWriter, status int, contentType []string, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left
}
