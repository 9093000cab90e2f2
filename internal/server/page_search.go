package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// countedDocs is the size up to which the page counts all matching documents of a search. In larger indexes
// it shows a number that is at least known.
const countedDocs = 1 << 20

// sortChoice is an order of results that the form offers.
type sortChoice struct {
	Value, Label string
	Chosen       bool
}

// fielded: the index answers filters with counts, and sorts.
func (h *handler) fielded(req searchRequest) bool {
	return req.Mode != griffin.ModeSaat && !req.Trace && h.backend.fields != nil && h.backend.fields()
}

// searchPage runs the search of a page with facets and highlights.
func (h *handler) searchPage(r *http.Request, req searchRequest, data *pageData) (*griffin.Results, *apiError) {
	p, err := h.plan(req, data.stats.Columns, h.fielded(req))
	data.Chips = chips(req, p.selections, p.types)
	if err != nil {
		return nil, h.explain("search", err, h.Timeout)
	}
	req.Page = func(q *griffin.Query) error {
		q.Facets = nil
		q.Count = h.fielded(req) && data.NumDocs <= countedDocs
		q.Highlight = highlights(data.stats.Fields, data.stats.Columns)
		return p.apply(q)
	}
	results, apiErr := h.run(r, req)
	if apiErr == nil {
		data.Facets = p.views(req, results)
		data.shown = shownFields(data.stats.Columns)
	}
	return results, apiErr
}

// highlights asks for passages of titles and of fields besides the text, which has a snippet.
func highlights(fields []griffin.FieldStats, columns []griffin.ColumnStats) *griffin.Highlight {
	h := &griffin.Highlight{Fields: []griffin.HighlightField{{Name: "title", Whole: true}}}
	for _, f := range fields {
		if f.Name != "" && f.Name != "title" && f.Name != "text" {
			whole := slices.ContainsFunc(columns, func(c griffin.ColumnStats) bool { return c.Name == f.Name })
			h.Fields = append(h.Fields, griffin.HighlightField{Name: f.Name, FragmentSize: 120, Whole: whole})
		}
	}
	return h
}

// sortChoices are the orders by dates and numbers.
func sortChoices(columns []griffin.ColumnStats, chosen string) []sortChoice {
	all := []sortChoice{{Label: "by relevance"}}
	for i := range columns {
		c := &columns[i]
		switch {
		case !c.Sortable || c.NumDocs == 0:
		case c.Type == "date":
			all = append(all, sortChoice{Value: c.Name + ":desc", Label: c.Name + ", newest first"}, sortChoice{Value: c.Name + ":asc", Label: c.Name + ", oldest first"})
		case isNumber(c.Type):
			all = append(all, sortChoice{Value: c.Name + ":asc", Label: c.Name + ", lowest first"}, sortChoice{Value: c.Name + ":desc", Label: c.Name + ", highest first"})
		}
	}
	found := false
	for i := range all {
		all[i].Chosen = all[i].Value == chosen || all[i].Value == chosen+":asc"
		found = found || all[i].Chosen
	}
	if !found {
		all = append(all, sortChoice{chosen, "by " + chosen, true})
	}
	if len(all) == 1 {
		return nil
	}
	return all
}

// formRange answers the form of a range with a redirection to the page that has the range as a filter.
func (h *handler) formRange(w http.ResponseWriter, req searchRequest, values url.Values) *apiError {
	field, from, to := values.Get("range"), strings.TrimSpace(values.Get("from")), strings.TrimSpace(values.Get("to"))
	if !fieldName(field) {
		return badParameter("range %.40q is not the name of a field", field)
	}
	var selections []selection
	for _, text := range req.Filters {
		node, err := h.backend.parse(text)
		if err != nil {
			return badParameter("filter %.60q: %s", text, base.Message(err))
		}
		selections = append(selections, newSelection(text, node))
	}
	filters := withRange(selections, field, rangeText(field, from, to, false /* open */))
	if from == "" && to == "" {
		filters = filters[:len(filters)-1]
	}
	w.Header().Set("Location", req.with(filters).page())
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// fieldName: a query can name the field.
func fieldName(name string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return name != "" && strings.Trim(name, known) == ""
}

// Limits of the stored values that a hit shows.
const (
	maxShownFields = 6
	maxShownValues = 3
	maxShownChars  = 60
)

// shownFields are the fields whose stored values hits show: those with types other than text, and texts with a
// multi-field that has few different values.
func shownFields(columns []griffin.ColumnStats) []string {
	var names []string
	for i := range columns {
		name, multi := strings.CutSuffix(columns[i].Name, ".keyword")
		if !multi || usefulFacet(&columns[i]) {
			names = append(names, name)
		}
	}
	return names
}

// shownValue is a field of a hit. HTML is escaped, with the words of the query marked.
type shownValue struct{ Name, HTML string }

// valuesOfHit are the values of a hit in the order of the mapping; of several, marked ones come first.
func (p *pageData) valuesOfHit(hit *griffin.Hit) []shownValue {
	var out []shownValue
	for _, name := range p.shown {
		var marked, others []string
		for i := range hit.Fields {
			f := &hit.Fields[i]
			if f.Name != name || f.Value == "" || f.Value == hit.Title {
				continue
			}
			if at := slices.IndexFunc(hit.Highlights[name], func(s griffin.Snippet) bool { return s.Text == f.Value }); at >= 0 {
				marked = append(marked, snippetHTML(hit.Highlights[name][at]))
			} else {
				others = append(others, snippetHTML(griffin.Snippet{Text: shortened(f.Value)}))
			}
		}
		texts := append(marked, others...)
		if len(texts) > maxShownValues {
			texts = append(texts[:maxShownValues], "…")
		}
		if len(texts) > 0 {
			out = append(out, shownValue{name, strings.Join(texts, ", ")})
		}
		if len(out) == maxShownFields {
			break
		}
	}
	return out
}

func shortened(text string) string {
	for i, n := 0, 0; i < len(text); n++ {
		if n == maxShownChars {
			return text[:i] + "…"
		}
		for i++; i < len(text) && text[i]&0xC0 == 0x80; i++ {
		}
	}
	return text
}

// passage is a highlighted value of a field of a hit.
type passage struct {
	Name    string
	Snippet griffin.Snippet
}

// maxPassages is the number of passages of a hit.
const maxPassages = 3

// passagesOfHit are highlights of fields whose values the page does not show, in the order of the stored fields.
func (p *pageData) passagesOfHit(hit *griffin.Hit) []passage {
	var out []passage
	seen := slices.Concat(p.shown, []string{"title", "text"})
	for i := range hit.Fields {
		name := hit.Fields[i].Name
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		for _, s := range hit.Highlights[name] {
			if len(out) < maxPassages && !strings.Contains(hit.Snippet.Text, s.Text) {
				out = append(out, passage{name, s})
			}
		}
	}
	return out
}

// titleOfHit has the words of the query marked. It is escaped.
func titleOfHit(hit *griffin.Hit) string {
	if marked := hit.Highlights["title"]; len(marked) > 0 && hit.Title != "" {
		return snippetHTML(marked[0])
	}
	if hit.Title == "" {
		return snippetHTML(griffin.Snippet{Text: hit.ID})
	}
	return snippetHTML(griffin.Snippet{Text: hit.Title})
}

// matchAll is the query of a page with filters but without words.
var matchAll = (&query.MatchAll{}).String()

// all is the page of all documents.
func (p *pageData) all() string {
	req := searchRequest{Index: p.Request.Index, Text: matchAll, K: griffin.DefaultK}
	return req.page()
}

// example is a query and a description of its matches.
type example struct{ Finds, Text string }

// examples are queries of fields of the index, with descriptions.
func (p *pageData) examples() []example {
	var out []example
	seen := map[string]bool{}
	for i := range p.stats.Columns {
		c := &p.stats.Columns[i]
		var e example
		switch {
		case c.NumDocs == 0 || !fieldName(c.Name):
		case c.Type == "date":
			e = example{"from a date on; below a number: <, up to: <=", c.Name + ":>=" + shortDate(c.Max)}
		case isNumber(c.Type):
			e = example{"numbers between two others", c.Name + ":[" + c.Min + " TO " + c.Max + "]"}
		}
		if e.Text != "" && !seen[e.Finds] {
			seen[e.Finds] = true
			out = append(out, e)
		}
	}
	return out
}
