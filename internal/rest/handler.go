package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Default limits of Options.
const (
	// DefaultMaxBodyBytes is http.max_content_length of OpenSearch.
	DefaultMaxBodyBytes = 100 << 20
	// DefaultMaxDocumentBytes bounds one document.
	DefaultMaxDocumentBytes = 16 << 20
	// DefaultMaxWrites is the number of requests that write at the same time.
	DefaultMaxWrites = 64
	// DefaultTimeout is for a request without a body, and for the parts of a bulk request.
	DefaultTimeout = 60 * time.Second
)

// Options of a Handler; a zero limit is its default.
type Options struct {
	Directory *Directory
	// MaxBodyBytes bounds the body of a bulk request, also after decompression.
	MaxBodyBytes int64
	// MaxDocumentBytes bounds a document, and the body of every other request; of a search, 1 MiB does, too.
	MaxDocumentBytes int
	// MaxWrites bounds the requests that write at the same time. Others get 429.
	MaxWrites int
	// Timeout of a request; of a bulk request, of each batch.
	Timeout time.Duration
	// Admit, if not nil, decides whether a search, or a multi-search, may begin; the caller calls leave once.
	Admit func(r *http.Request, multi bool) (leave func(answered, shed bool), refused *Error)
	// Logger is slog.Default() by default.
	Logger *slog.Logger
}

// Handler answers the requests of the API.
type Handler struct {
	options Options
	dir     *Directory
	log     *slog.Logger
	writes  chan struct{} // semaphore
	batches chan struct{} // semaphore of large batches of bulk requests
	metrics *metrics
	mux     *http.ServeMux
	// snapshots has the paths under /_snapshot, which patterns with {index} match too.
	snapshots *http.ServeMux
	origins   *http.CrossOriginProtection
	// answerBytes is maxAnswerBytes, or less in tests.
	answerBytes int64
}

// New makes a Handler.
func New(o Options) *Handler {
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, DefaultMaxBodyBytes)
	o.MaxDocumentBytes = cmp.Or(o.MaxDocumentBytes, DefaultMaxDocumentBytes)
	o.MaxWrites = cmp.Or(o.MaxWrites, DefaultMaxWrites)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	h := &Handler{
		options: o, dir: o.Directory, log: cmp.Or(o.Logger, slog.Default()), writes: make(chan struct{}, o.MaxWrites), batches: make(chan struct{}, maxLargeBatches),
		metrics: newMetrics(o.Directory), mux: http.NewServeMux(), snapshots: http.NewServeMux(), origins: http.NewCrossOriginProtection(), answerBytes: maxAnswerBytes,
	}
	h.routes()
	return h
}

// answer is the result of a route: an object to encode, or JSON.
type answer struct {
	status int
	body   any // nil: none
	text   string
	sent   bool    // the route has written it
	memory *buffer // of body, released when it is sent; nil: not used again
}

func ok(body any) (answer, *Error) { return answer{status: http.StatusOK, body: body}, nil }

// rawJSON is sent as it is, so that documents stay byte-identical.
type rawJSON []byte

// request is an HTTP request of a route.
type request struct {
	*http.Request
	h      *Handler
	w      http.ResponseWriter
	values url.Values
	began  time.Time
	reads  bool        // the body has been read, in part at least
	chosen *pathFilter // parts of the answer, by filter_path; nil: all
	ends   []func()    // called when the route has answered
	writes bool        // it has one of Options.MaxWrites
	// keepSlot keeps it until the answer is sent.
	keepSlot bool
}

type action func(r *request) (answer, *Error)

// everywhere are parameters that all routes accept. The first four format answers. The others change nothing on one
// machine, except that the last three are searchOptions of searches.
var everywhere = []string{"filter_path", "pretty", "human", "error_trace", "timeout", "master_timeout", "cluster_manager_timeout", "wait_for_active_shards", "ignore_unavailable", "allow_no_indices", "expand_wildcards"}

func (h *Handler) routes() {
	on := func(mux *http.ServeMux) func(pattern string, f action, parameters ...string) {
		return func(pattern string, f action, parameters ...string) {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { h.serve(w, req, f, parameters) })
		}
	}
	route := on(h.mux)
	multi := slices.Concat(searchParameters, []string{"max_concurrent_searches", "rest_total_hits_as_int", "typed_keys"})
	writing := []string{"refresh", "routing", "if_seq_no", "if_primary_term", "version", "version_type", "op_type"}
	for _, method := range []string{"PUT", "POST"} {
		route(method+" /{index}/_doc/{id}", putDocument, writing...)
		route(method+" /{index}/_create/{id}", createDocument, writing...)
		route(method+" /_bulk", bulk, "refresh")
		route(method+" /{index}/_bulk", bulk, "refresh")
	}
	route("POST /{index}/_doc", putDocument, writing...)
	route("GET /{index}/_doc/{id}", bodiless(getDocument), "realtime", "refresh", "_source", "preference", "routing")
	route("DELETE /{index}/_doc/{id}", bodiless(deleteDocument), writing...)
	route("PUT /{index}", createIndex)
	route("DELETE /{index}", bodiless(deleteIndex))
	route("GET /{index}", bodiless(getIndex))
	for _, method := range []string{"GET", "POST"} {
		route(method+" /{index}/_search", search, slices.Concat(searchParameters, []string{"q", "from", "size", "sort", "_source", "_source_includes", "_source_excludes", "track_total_hits", "track_scores", "explain", "version", "seq_no_primary_term", "default_operator", "df", "rest_total_hits_as_int", "typed_keys", "preference", "request_cache", "allow_partial_search_results", "batched_reduce_size"})...)
		route(method+" /_msearch", searchMany, multi...)
		route(method+" /{index}/_msearch", searchMany, multi...)
		route(method+" /{index}/_count", count, "q", "default_operator", "df", "preference", "routing", "ignore_throttled")
		route(method+" /{index}/_refresh", bodiless(refreshIndex))
		route(method+" /_refresh", bodiless(refreshIndex))
	}
	h.moreRoutes(route)
	snapshotRoutes(on(h.snapshots))
	route("/", noRoute)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/") {
		u := *r.URL
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
		copied := *r
		copied.URL = &u
		r = &copied
	}
	h.muxOf(r.URL).ServeHTTP(w, r)
}

func (h *Handler) muxOf(u *url.URL) *http.ServeMux {
	if u.Path == "/_snapshot" || strings.HasPrefix(u.Path, "/_snapshot/") {
		return h.snapshots
	}
	return h.mux
}

func (h *Handler) serve(w http.ResponseWriter, req *http.Request, f action, parameters []string) {
	r := &request{Request: req, h: h, w: w, began: time.Now()}
	a, err := r.run(f, parameters)
	for _, end := range r.ends {
		end()
	}
	if err != nil {
		r.dropBody()
		h.Fail(w, req, err)
		return
	}
	if a.sent {
		return
	}
	if a.body == nil {
		w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(a.text)))
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.text) // the client may have left
		return
	}
	body := a.body
	if r.chosen != nil {
		if text, err := encode(body); err == nil {
			body = rawJSON(r.chosen.apply(text))
		}
	}
	h.write(w, req, a.status, body)
	if req.ProtoMajor == 1 { // the connection of HTTP/2 may still read a body that a client has given up
		a.memory.release()
	}
}

func (r *request) run(f action, parameters []string) (answer, *Error) {
	if err := r.h.origins.Check(r.Request); err != nil {
		return answer{}, &Error{Status: http.StatusForbidden, Type: "security_exception", Reason: "a page of another site sent the request"}
	}
	if r.unrouted() {
		return noRoute(r)
	}
	if r.URL.RawQuery != "" {
		var err error
		if r.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			return answer{}, illegal("the address is malformed: %v", err)
		}
	}
	for name, values := range r.values {
		switch {
		case !slices.Contains(parameters, name) && !slices.Contains(everywhere, name):
			reason := fmt.Sprintf("request [%s] contains unrecognized parameter: [%s]", r.URL.Path, name)
			if r.URL.Path == "/" && name == "q" {
				reason += searchHint
			}
			return answer{}, illegal("%s", reason)
		case len(values) > 1:
			return answer{}, illegal("request [%s] has parameter [%s] more than once", r.URL.Path, name)
		}
	}
	if text := r.values.Get("filter_path"); text != "" {
		var err *Error
		if r.chosen, err = newPathFilter(text); err != nil {
			return answer{}, err
		}
	}
	if r.ContentLength != 0 {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "application/json", "application/x-ndjson", "application/vnd.elasticsearch+json", "application/vnd.elasticsearch+x-ndjson":
		default:
			return answer{}, &Error{Status: http.StatusNotAcceptable, Type: "media_type_header_exception", Reason: fmt.Sprintf("Content-Type header [%s] is not supported; send -H 'Content-Type: application/json'", r.Header.Get("Content-Type"))}
		}
	}
	return f(r)
}

// Fail writes an error.
func (h *Handler) Fail(w http.ResponseWriter, r *http.Request, e *Error) {
	switch e.Status {
	case statusClientGone:
		panic(http.ErrAbortHandler)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int((e.RetryAfter+time.Second-1)/time.Second))))
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close")
	}
	h.metrics.failed(e)
	h.write(w, r, e.Status, e.body())
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, status int, body any) {
	text, err := encode(body)
	if err != nil {
		h.log.Error("an answer cannot be encoded", "error", err)
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if query := r.URL.Query(); query.Has("pretty") && query.Get("pretty") != "false" {
			var b bytes.Buffer
			if json.Indent(&b, text, "", "  ") == nil {
				text = b.Bytes()
			}
		}
	}
	header := w.Header()
	header["Content-Type"] = contentTypeJSON
	header.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // the client may have left
	}
}

// encode returns an answer as JSON.
func encode(body any) ([]byte, error) {
	if text, raw := body.(rawJSON); raw {
		return text, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return b.Bytes(), err
}

// contentTypeJSON is shared by all answers.
var contentTypeJSON = []string{"application/json; charset=UTF-8"}

// deadlines give the body and the answer time.
func (r *request) deadlines() {
	c := http.NewResponseController(r.w)
	until := time.Now().Add(r.h.options.Timeout)
	_ = c.SetReadDeadline(until) // a test's recorder has none
	_ = c.SetWriteDeadline(until.Add(r.h.options.Timeout))
}

// beginWrite checks the parameter refresh and takes one of Options.MaxWrites; the caller calls done, which is endWrite.
func (r *request) beginWrite() (done func(), err *Error) {
	if _, err := r.checkRefresh(); err != nil {
		return nil, err
	}
	select {
	case r.h.writes <- struct{}{}:
		r.writes = true
		return r.endWrite, nil
	default:
		return nil, TooBusy(fmt.Sprintf("%d requests that write are already running", r.h.options.MaxWrites), time.Second)
	}
}

// endWrite gives back one of Options.MaxWrites, if the request has one.
func (r *request) endWrite() {
	if r.writes {
		r.writes = false
		<-r.h.writes
	}
}

func (r *request) limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), r.h.options.Timeout)
}

func (r *request) boolean(name string, missing bool) (bool, *Error) {
	switch v := r.values.Get(name); {
	case !r.values.Has(name):
		return missing, nil
	case v == "" || v == "true":
		return true, nil
	case v == "false":
		return false, nil
	default:
		return false, notBoolean(name, v)
	}
}

func notBoolean(name, text string) *Error {
	return illegal("Failed to parse value [%s] of [%s] as only [true] or [false] are allowed.", text, name)
}

// number returns an integer parameter, 0 and false if there is none.
func (r *request) number(name string) (n uint64, given bool, err *Error) {
	text := r.values.Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, parseErr := strconv.ParseUint(text, 10, 63)
	if parseErr != nil {
		return 0, false, illegal("Failed to parse int parameter [%s] with value [%s]", name, text)
	}
	return n, true, nil
}

// unrouted reports whether no route is meant: a path of no pattern, or a name that no index has, such as
// in GET /_nodes. PUT gets the rules of names.
func (r *request) unrouted() bool {
	_, pattern, found := strings.Cut(r.Pattern, " ")
	if !found { // "/", for any method
		return r.Pattern == "/"
	}
	return strings.HasPrefix(pattern, "/{index}") && strings.HasPrefix(r.PathValue("index"), "_") && r.Method != http.MethodPut
}

// allowed returns the methods that the path of the request has routes for.
func (r *request) allowed() (methods []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		_, pattern := r.h.muxOf(r.URL).Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		_, path, found := strings.Cut(pattern, " ")
		if found && (!strings.HasPrefix(path, "/{index}") || !strings.HasPrefix(r.URL.Path, "/_")) {
			methods = append(methods, method)
		}
	}
	return methods
}

const searchHint = "; searches are at /NAME/_search?q=, where NAME is an index"

func noRoute(r *request) (answer, *Error) {
	if methods := strings.Join(r.allowed(), ", "); methods != "" {
		r.w.Header().Set("Allow", methods)
		reason := fmt.Sprintf("Incorrect HTTP method for uri [%s] and method [%s], allowed: [%s]", r.URL.RequestURI(), r.Method, methods)
		return answer{}, &Error{Status: http.StatusMethodNotAllowed, Type: typeIllegalArgument, Reason: reason}
	}
	reason := fmt.Sprintf("no handler found for uri [%s] and method [%s]", r.URL.RequestURI(), r.Method)
	if path.Base(r.URL.Path) == "search" || r.URL.Path == "/_search" {
		reason += searchHint
	}
	return answer{}, illegal("%s", reason)
}

func (h *Handler) moreRoutes(route func(pattern string, f action, parameters ...string)) {
	route("GET /{$}", bodiless(root))
	route("POST /{index}/_update/{id}", updateDocument, "refresh", "routing", "if_seq_no", "if_primary_term", "retry_on_conflict")
	for _, method := range []string{"GET", "POST"} {
		route(method+" /{index}/_flush", bodiless(flushIndex), "force", "wait_if_ongoing")
		route(method+" /_flush", bodiless(flushIndex), "force", "wait_if_ongoing")
	}
	route("POST /{index}/_forcemerge", bodiless(mergeIndex), "max_num_segments", "flush")
	route("POST /_forcemerge", bodiless(mergeIndex), "max_num_segments", "flush")
	route("GET /{index}/_settings", bodiless(getSettings))
	route("GET /_settings", bodiless(getSettings))
	route("PUT /{index}/_settings", putSettings, "preserve_existing")
	route("PUT /_settings", putSettings, "preserve_existing")
	for _, method := range []string{"PUT", "POST"} {
		route(method+" /{index}/_mapping", putMapping, "write_index_only")
	}
	route("GET /{index}/_mapping", bodiless(getMapping))
	for _, method := range []string{"GET", "POST"} {
		route(method+" /_analyze", analyze)
		route(method+" /{index}/_analyze", analyze)
	}
	route("GET /{index}/_export", bodiless(exportIndex))
	route("POST /{index}/_impacts", buildImpacts)
	route("GET /_mapping", bodiless(getMapping))
	route("GET /{index}/_mapping/field/{fields}", bodiless(getFieldMapping), "include_defaults")
	route("GET /_cat/indices", bodiless(catIndices), "format", "h", "s", "v")
	route("GET /_cat/indices/{index}", bodiless(catIndices), "format", "h", "s", "v")
	route("GET /_cluster/health", bodiless(health), "wait_for_status", "level", "local")
	route("GET /_cluster/health/{index}", bodiless(health), "wait_for_status", "level", "local")
	byQuery := []string{"refresh", "conflicts", "wait_for_completion", "q", "default_operator", "df", "max_docs", "scroll_size", "slices", "requests_per_second"}
	route("POST /{index}/_delete_by_query", deleteByQuery, byQuery...)
	route("POST /{index}/_update_by_query", updateByQuery, byQuery...)
}
