package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// HTTP is a server started by griffin serve, as a Target.
type HTTP struct {
	client *http.Client
	wire   *wire // nil: client sends the queries
	// streams send the queries of runs, on systems that have them.
	streams streams
	base    string
	urls    []string
	// targets are the paths of urls; with wire only.
	targets []string
	// Of batches: lines of each query, and the path, "" until the server has told its index.
	searches [][]byte
	batchURL atomic.Pointer[string]
}

var (
	_ Target      = (*HTTP)(nil)
	_ BatchTarget = (*HTTP)(nil)
	_ streamer    = (*HTTP)(nil)
)

// Limits of the read part of a failed response, and of the stored message.
const (
	maxAnswerBytes = 4 << 10
	maxErrorBytes  = 300
)

// idleTime of an unused connection is less than in griffin serve (a minute), so
// that no connection is used while the server closes it.
const idleTime = 30 * time.Second

// NewHTTP returns the server at address ("http://host:port"; a path before /search may
// follow), to which queries are sent with the given parameters in addition to q. It
// keeps up to connections open; opening one counts in the latency.
func NewHTTP(address string, queries []string, parameters url.Values, connections int) (*HTTP, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("load: address: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("load: address %q is not of the form http://host:port", address)
	}
	h := &HTTP{base: strings.TrimSuffix(u.String(), "/"), wire: newWire(u, connections)}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	for _, q := range queries {
		values := url.Values{"q": {q}}
		for name, v := range parameters {
			values[name] = v
		}
		search := "/search?" + values.Encode()
		h.urls = append(h.urls, h.base+search)
		h.targets = append(h.targets, path+search)
	}
	h.client = &http.Client{
		Transport: &http.Transport{
			MaxIdleConns: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: idleTime, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, nil
}

// Do implements Target.
func (h *HTTP) Do(ctx context.Context, query int) (o Outcome, err error) {
	if h.wire != nil {
		o = Failed
		err = h.wire.do(ctx, maxAnswerBytes, func(dst []byte) []byte { return h.wire.appendRequest(dst, h.targets[query]) }, func(status int, answer []byte) error {
			o, err = outcomeOf(status, answer)
			return err
		})
		return o, err
	}
	status, body, err := h.get(ctx, h.urls[query], maxAnswerBytes)
	if err != nil {
		return Failed, withoutAddress(err)
	}
	return outcomeOf(status, body)
}

func outcomeOf(status int, body []byte) (Outcome, error) {
	switch status {
	case http.StatusOK:
		return Answered, nil
	case http.StatusTooManyRequests:
		return Limited, statusError(status, body)
	case http.StatusServiceUnavailable:
		return Overloaded, statusError(status, body)
	case http.StatusGatewayTimeout:
		return Expired, statusError(status, body)
	}
	return Failed, statusError(status, body)
}

// withoutAddress removes the address, which contains the query, so that equal faults have equal texts.
func withoutAddress(err error) error {
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}

// statusError is a fault with the server's message. It wraps base.ErrBadInput
// if the request is invalid (400, 414), and base.ErrNotIndex if there is no such index. It is a *Refusal for all statuses from
// 400 to 499 except 408, 425, 429.
func statusError(status int, body []byte) error {
	var said struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Type    string `json:"type"`   // of the API of OpenSearch
			Reason  string `json:"reason"` // of the same
		} `json:"error"`
	}
	e := &httpError{status: status, message: strings.TrimSpace(string(body))}
	if json.Unmarshal(body, &said) == nil {
		e.noIndex = said.Error.Type == "index_not_found_exception" ||
			status == http.StatusNotFound && strings.HasPrefix(said.Error.Message, "there is no index ")
		e.message = cmp.Or(said.Error.Message, said.Error.Reason, e.message)
	}
	e.message = strings.ToValidUTF8(e.message[:min(len(e.message), maxErrorBytes)], "")
	switch {
	case status < 400, status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return e
	}
	return &Refusal{Err: e, OfQuery: slices.Contains(faultsOfQueries, said.Error.Code)}
}

// Error codes of griffin serve for invalid query texts.
var faultsOfQueries = []string{"query_syntax", "bad_query", "query_too_long"}

type httpError struct {
	status  int
	message string
	noIndex bool // the server has none of the name
}

func (e *httpError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.message) }

func (e *httpError) Is(kind error) bool {
	if kind == base.ErrNotIndex {
		return e.noIndex
	}
	return kind == base.ErrBadInput && (e.status == http.StatusBadRequest || e.status == http.StatusRequestURITooLong)
}

// get reads a response to its end, and keeps at most limit bytes.
func (h *HTTP) get(ctx context.Context, address string, limit int64) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := h.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, limit))
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
	}
	return response.StatusCode, body, err
}

// Close closes the connections.
func (h *HTTP) Close() {
	h.client.CloseIdleConnections()
	if h.wire != nil {
		h.wire.close()
	}
	h.streams.close()
}
