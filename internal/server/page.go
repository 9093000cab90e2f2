package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page, its style and its icon are part of the binary
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
)

var (
	//go:embed page.css
	pageStyle string
	//go:embed icon.svg
	pageIcon []byte
)

// Only the style, by its hash, the icon and the form of this page are allowed.
var contentSecurityPolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

//go:generate go -C ../../tools run github.com/valyala/quicktemplate/qtc -skipLineComments -file=../internal/server/page.qtpl

type pageData struct {
	Title    string
	Request  searchRequest
	Modes    []modeChoice
	NumDocs  int // -1 if unknown
	MaxBytes int // of the query

	// Of a directory.
	Directory bool
	Indexes   []string

	// At most one of these is set; none on the start page.
	Error    *apiError
	Results  *griffin.Results
	Document *griffin.Document

	Links resultLinks

	Sorts  []sortChoice
	Chips  []chip
	Facets []facetView

	stats griffin.Stats
	shown []string // fields whose values hits show
}

// resultLinks are addresses that belong to the results; "": none.
type resultLinks struct {
	Previous, Next string
	JSON           string
	AnyWord        string // the same query in mode or
	Trace          string // the same results with their trace
	Unfiltered     string // the same query without filters
}

func (p *pageData) isStart() bool { return p.Results == nil && p.Error == nil && p.Document == nil }

// noIndex: there is nothing to search.
func (p *pageData) noIndex() bool { return p.Directory && len(p.Indexes) == 0 }

// choice: the form offers several indexes, or others than a wrong one.
func (p *pageData) choice() bool {
	return len(p.Indexes) > 1 || p.Directory && !slices.Contains(p.Indexes, p.Request.Index)
}

// heading has the numbers of the results that are shown, and of all.
func (p *pageData) heading() string {
	n, total := len(p.Results.Hits), p.Results.Total
	if p.Links.Next == "" && p.Links.Previous == "" && total.Value <= int64(n) {
		return plural(n, "result")
	}
	text := "Results " + formatCount(p.Request.Offset+1) + " to " + formatCount(p.Request.Offset+n)
	switch {
	case total.Relation == griffin.TotalExact:
		text += " of " + formatCount(int(total.Value))
	case total.Value > int64(p.Request.Offset+n):
		text += " of at least " + formatCount(int(total.Value))
	}
	return text
}

type modeChoice struct {
	Mode   griffin.Mode
	Label  string
	Chosen bool
}

// page serves the form alone, or with the results of ?q=.
func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	req, apiErr := h.parseRequest(r, false /* strict */)
	if values := r.URL.Query(); apiErr == nil && values.Get("range") != "" && h.backend.parse != nil {
		if apiErr = h.formRange(w, req, values); apiErr == nil {
			return
		}
	}
	if strings.TrimSpace(req.Text) == "" && len(req.Filters) > 0 {
		req.Text = matchAll
	}
	data := h.newPage(req)
	if apiErr == nil && strings.TrimSpace(req.Text) != "" {
		data.Title = req.Text + " – Griffin"
		data.Results, apiErr = h.searchPage(r, req, data)
	}
	if apiErr != nil {
		data.Title, data.Error = "Error – Griffin", apiErr
	}
	if data.Results != nil {
		data.Links.JSON = address("/search", req)
		if len(data.Results.Hits) == req.K && req.Offset+2*req.K <= h.MaxK {
			next := req
			next.Offset += req.K
			data.Links.Next = address("/", next)
		}
		if req.Offset > 0 {
			previous := req
			previous.Offset = max(0, req.Offset-req.K)
			data.Links.Previous = address("/", previous)
		}
		if !req.Trace && req.Sort == "" {
			traced := req
			traced.Trace = true
			data.Links.Trace = address("/", traced) + "#trace"
		}
		if req.Mode == griffin.ModeAnd {
			anyWord := req
			anyWord.Mode = griffin.ModeOr
			data.Links.AnyWord = address("/", anyWord)
		}
		if len(req.Filters) > 0 {
			data.Links.Unfiltered = req.with(nil).page()
		}
	}
	h.writePage(w, data)
}

func (h *handler) newPage(req searchRequest) *pageData {
	req.Index = h.index
	data := &pageData{
		Title: "Griffin", Request: req, NumDocs: -1, MaxBytes: h.MaxQueryBytes,
		Modes: []modeChoice{{Mode: griffin.ModeOr, Label: "any word"}, {Mode: griffin.ModeAnd, Label: "all words"}, {Mode: griffin.ModeAndOr, Label: "all, else any"}},
	}
	if req.Mode == griffin.ModeSaat { // shown only if the address asks for it: few indexes have its lists
		data.Modes = append(data.Modes, modeChoice{Mode: griffin.ModeSaat, Label: "any, by impacts"})
	}
	if len(h.Modes) > 0 {
		data.Modes = slices.DeleteFunc(data.Modes, func(c modeChoice) bool { return !slices.Contains(h.Modes, c.Mode) })
	}
	if h.Directory != nil {
		data.Directory, data.Indexes = true, h.Directory.Names()
	}
	for i := range data.Modes {
		data.Modes[i].Chosen = data.Modes[i].Mode == req.Mode
	}
	if stats, err := h.backend.stats(); err == nil {
		data.NumDocs, data.stats = stats.NumDocs, stats
		if h.fielded(req) || req.Trace {
			data.Sorts = sortChoices(stats.Columns, req.Sort)
		}
	}
	return data
}

// document serves /document?id=.
func (h *handler) document(w http.ResponseWriter, r *http.Request) {
	data := h.newPage(searchRequest{})
	body, apiErr := h.documentPage(r, data)
	if apiErr != nil {
		data.Error = apiErr
		h.writePage(w, data)
		return
	}
	writeBody(w, http.StatusOK, pageType, body)
}

// documentPage works within the time limit, if admission lets it begin. Sending the
// page does not count: a reader may be slow.
func (h *handler) documentPage(r *http.Request, data *pageData) ([]byte, *apiError) {
	const asked = "request for a document"
	id := r.URL.Query().Get("id")
	if id == "" {
		return nil, badParameter("parameter id, the document's id, is missing")
	}
	admitted, refused := h.documents.enter(clientOf(r), h.Timeout, 0)
	if refused != nil {
		return nil, refused
	}
	answered := false
	defer func() { h.documents.leave(admitted, answered, false /* shed */) }()
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-ctx.Done():
		return nil, h.explain(asked, ended(r, ctx.Err()), h.Timeout)
	}
	doc, err := h.backend.document(ctx, id)
	if errors.Is(err, griffin.ErrNotFound) {
		answered = true
		return nil, &apiError{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("the index has no document %.100q", id)}
	}
	if err != nil {
		return nil, h.explain(asked, ended(r, err), h.Timeout)
	}
	answered = true
	data.Document = &doc
	data.Title = cmp.Or(doc.Title, doc.ID) + " – Griffin"
	return []byte(pageHTML(data)), nil
}

var pageType = []string{"text/html; charset=utf-8"}

func (h *handler) writePage(w http.ResponseWriter, data *pageData) {
	status := http.StatusOK
	if data.Error != nil {
		status = data.Error.Status
		if !announce(w, data.Error) {
			return
		}
	}
	writeBody(w, status, pageType, []byte(pageHTML(data)))
}

func icon(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "max-age=86400")
	writeBody(w, http.StatusOK, svgType, pageIcon)
}

// address omits default values.
func address(path string, req searchRequest) string {
	values := url.Values{"q": {req.Text}}
	if req.Index != "" {
		values.Set("index", req.Index)
	}
	if req.Mode != griffin.ModeOr {
		values.Set("mode", req.Mode.String())
	}
	if req.K != griffin.DefaultK {
		values.Set("k", strconv.Itoa(req.K))
	}
	if req.Offset != 0 {
		values.Set("offset", strconv.Itoa(req.Offset))
	}
	if req.Rho > 0 {
		values.Set("rho", strconv.Itoa(req.Rho))
	}
	if req.Timeout > 0 {
		values.Set("timeout", req.Timeout.String())
	}
	if req.Trace {
		values.Set("trace", "1")
	}
	if req.Sort != "" {
		values.Set("sort", req.Sort)
	}
	if len(req.Filters) > 0 {
		values["filter"] = req.Filters
	}
	for _, f := range req.Facets {
		values.Add("facet", facetText(f))
	}
	return path + "?" + values.Encode()
}

// facetText is what griffin.ParseFacet reads.
func facetText(f griffin.Facet) string {
	if f.Size == 0 {
		return f.Field
	}
	return f.Field + "=" + strconv.Itoa(f.Size)
}

// For people: 830 µs, 12.3 ms, 1.25 s.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// 1,234,567.
func formatCount(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// 1 result, 1,200 results.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return formatCount(n) + " " + thing
}
