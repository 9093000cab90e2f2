package server

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
)

// Within the limits.
type searchRequest struct {
	Index     string // of a directory; else ""
	Text      string
	K, Offset int
	Mode      griffin.Mode
	Trace     bool
	Lenient   bool          // tolerate syntax errors in Text
	Rho       int           // of mode saat: the maximum number of postings to process; 0: all
	Timeout   time.Duration // 0: Options.Timeout
	Filters   []string      // queries that documents must match, too
	Sort      string        // as griffin.SortKeys reads it
	Facets    []griffin.Facet
	// Page adds the options of a page, and its filters in the place of Filters; nil: a request of the API.
	Page func(*griffin.Query) error
	// Memory for the results, as of griffin.Index.SearchInto; nil: none.
	Memory *griffin.Results
}

var parameters = []string{"q", "k", "offset", "mode", "sort", "filter", "facet", "trace", "rho", "timeout"}

// repeated parameters may be given several times, each at most maxRepeated times.
var repeated = []string{"filter", "facet"}

const maxRepeated = 20

// parseRequest reads the parameters of a search. If strict, an unknown parameter is an
// error. After an error, the request holds the valid parameters.
func (h *handler) parseRequest(r *http.Request, strict bool) (searchRequest, *apiError) {
	req := searchRequest{Index: h.index, K: griffin.DefaultK, Lenient: !strict}
	values, err := parametersOf(r)
	if err != nil {
		return req, badParameter("the address is malformed: %v", err)
	}
	for name, all := range values {
		if !slices.Contains(parameters, name) && (name != "index" || h.index == "") {
			if strict {
				known := parameters
				if h.index != "" {
					known = append(slices.Clone(known), "index")
				}
				return req, badParameter("unknown parameter %.40q; known are %s", name, strings.Join(known, ", "))
			}
		} else if slices.Contains(repeated, name) {
			if len(all) > maxRepeated {
				return req, badParameter("parameter %s is given more than %d times", name, maxRepeated)
			}
		} else if len(all) > 1 {
			return req, badParameter("parameter %s is given %d times", name, len(all))
		}
	}
	if apiErr := h.checkText(values.Get("q")); apiErr != nil {
		return req, apiErr
	}
	req.Text = values.Get("q")
	if len(h.Modes) > 0 {
		req.Mode = h.Modes[0]
	}
	if mode := values.Get("mode"); mode != "" {
		// In an address a plus sign is a space: mode=and+or arrives as "and or".
		if req.Mode, err = griffin.ParseMode(strings.ReplaceAll(mode, " ", "+")); err != nil {
			return req, badParameter("mode %.40q is none of or, and, and+or, saat", mode)
		}
	}
	k, apiErr := intParameter(values, "k", griffin.DefaultK, 1, h.MaxK)
	if apiErr != nil {
		return req, apiErr
	}
	req.K = k
	if req.Offset, apiErr = intParameter(values, "offset", 0, 0, h.MaxK-k); apiErr != nil {
		return req, apiErr
	}
	if req.Rho, apiErr = intParameter(values, "rho", 0, 1, math.MaxInt); apiErr != nil {
		return req, apiErr
	}
	if req.Rho > 0 && req.Mode != griffin.ModeSaat {
		return req, badParameter("rho is for mode saat")
	}
	if req.Timeout, apiErr = h.timeoutParameter(values); apiErr != nil {
		return req, apiErr
	}
	if apiErr = h.fieldParameters(&req, values); apiErr != nil {
		return req, apiErr
	}
	trace, apiErr := intParameter(values, "trace", 0, 0, 1)
	req.Trace = trace == 1
	return req, apiErr
}

// parametersOf reads the parameters of a request once.
func parametersOf(r *http.Request) (url.Values, error) {
	if r.Form == nil {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return values, err
		}
		r.Form = values
	}
	return r.Form, nil
}

// fieldParameters reads what filters, sorts and counts by fields.
func (h *handler) fieldParameters(req *searchRequest, values url.Values) *apiError {
	req.Sort = values.Get("sort")
	for _, text := range append([]string{req.Sort}, values["filter"]...) {
		if apiErr := h.checkText(text); apiErr != nil {
			return apiErr
		}
	}
	for _, text := range values["filter"] {
		if strings.TrimSpace(text) != "" { // a form sends it for an empty field
			req.Filters = append(req.Filters, text)
		}
	}
	for _, text := range values["facet"] {
		f, err := griffin.ParseFacet(text)
		if err != nil {
			return badParameter("%s", base.Message(err))
		}
		req.Facets = append(req.Facets, f)
	}
	return nil
}

func intParameter(values url.Values, name string, missing, lowest, highest int) (int, *apiError) {
	text := values.Get(name)
	if text == "" {
		return missing, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < lowest || v > highest {
		return missing, badParameter("%s %.40q is not a number from %d to %d", name, text, lowest, highest)
	}
	return v, nil
}

// timeoutParameter returns 0 if there is none.
func (h *handler) timeoutParameter(values url.Values) (time.Duration, *apiError) {
	text := values.Get("timeout")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > h.Timeout {
		return 0, badParameter("timeout %.40q is not a time such as 50ms, of at most %v", text, h.Timeout)
	}
	return d, nil
}

func (h *handler) checkText(text string) *apiError {
	if len(text) > h.MaxQueryBytes {
		return &apiError{
			Status: http.StatusRequestURITooLong, Code: "query_too_long",
			Message: fmt.Sprintf("the query has %d bytes, more than %d", len(text), h.MaxQueryBytes),
		}
	}
	if !utf8.ValidString(text) {
		return badParameter("the query is not valid UTF-8")
	}
	return nil
}

type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Offset  *int   `json:"offset,omitempty"` // byte of q at which the error is

	retryAfter time.Duration // of statuses 429, 503 and 504; at least 1 s is sent
}

func badParameter(format string, args ...any) *apiError {
	return &apiError{Status: http.StatusBadRequest, Code: "bad_parameter", Message: fmt.Sprintf(format, args...)}
}
