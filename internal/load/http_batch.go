package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// UseBatches sets the searches of DoBatch, in the JSON of OpenSearch and in the order of the queries,
// and the index; "" is the server's only one. It is called before the first query.
func (h *HTTP) UseBatches(index string, searches [][]byte) {
	h.searches = make([][]byte, len(searches))
	for i, s := range searches {
		h.searches[i] = append(append([]byte("{}\n"), s...), '\n') // an empty header: the path has the index
	}
	if index != "" {
		h.setIndex(index)
	}
}

func (h *HTTP) setIndex(name string) string {
	address := h.base + "/" + url.PathEscape(name) + "/_msearch"
	h.batchURL.Store(&address)
	return address
}

// buffers are of the requests and the answers of batches.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// DoBatch implements BatchTarget with POST /{index}/_msearch.
func (h *HTTP) DoBatch(ctx context.Context, first, n int) (o Outcome, failed int, err error) {
	address, err := h.batchAddress(ctx)
	if err != nil {
		return Failed, 0, withoutAddress(err)
	}
	size := 0
	for i := range n {
		size += len(h.searches[(first+i)%len(h.searches)])
	}
	appendBody := func(dst []byte) []byte {
		for i := range n {
			dst = append(dst, h.searches[(first+i)%len(h.searches)]...)
		}
		return dst
	}
	o = Failed
	read := func(status int, answer []byte) (err error) {
		if status != http.StatusOK {
			o, err = outcomeOf(status, answer[:min(len(answer), maxAnswerBytes)])
			return err
		}
		if failed, err = failures(answer, n); failed >= 0 {
			o = Answered
		} else {
			failed = 0
		}
		return err
	}
	if h.wire != nil {
		err = h.wire.do(ctx, math.MaxInt64, func(dst []byte) []byte {
			return appendBody(h.wire.appendPost(dst, strings.TrimPrefix(address, h.origin()), batchType, size))
		}, read)
		return o, failed, err
	}
	err = h.post(ctx, address, appendBody(make([]byte, 0, size)), read)
	return o, failed, err
}

const batchType = "application/x-ndjson"

// origin is the part of addresses before the path.
func (h *HTTP) origin() string { return "http://" + h.wire.host }

// post calls read with the status and the answer.
func (h *HTTP) post(ctx context.Context, address string, body []byte, read func(status int, answer []byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", batchType)
	response, err := h.client.Do(request)
	if err != nil {
		return withoutAddress(err)
	}
	defer response.Body.Close()
	answer, _ := buffers.Get().(*bytes.Buffer)
	answer.Reset()
	defer buffers.Put(answer)
	if _, err := answer.ReadFrom(response.Body); err != nil {
		return withoutAddress(err)
	}
	return read(response.StatusCode, answer.Bytes())
}

// failures returns the number of searches of n without an answer, -1 if the answer is none of n searches,
// and the first fault.
func failures(answer []byte, n int) (int, error) {
	if bytes.Count(answer, []byte(`,"status":200}`)) == n { // a document's text has no quote without a backslash before it
		return 0, nil
	}
	var said struct {
		Responses []struct {
			Status int             `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"responses"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return -1, fmt.Errorf("the answer of a batch cannot be read: %w", err)
	}
	if len(said.Responses) != n {
		return -1, fmt.Errorf("a batch of %d queries has %d answers", n, len(said.Responses))
	}
	failed := 0
	var first error
	for _, r := range said.Responses {
		if r.Status == http.StatusOK {
			continue
		}
		failed++
		if first == nil {
			first = statusError(r.Status, fmt.Appendf(nil, `{"error":%s}`, r.Error))
		}
	}
	var refusal *Refusal
	if errors.As(first, &refusal) {
		refusal.OfQuery = true // the server has taken the request
	}
	return failed, first
}

// batchAddress asks the server for its index if none was given.
func (h *HTTP) batchAddress(ctx context.Context) (string, error) {
	if known := h.batchURL.Load(); known != nil {
		return *known, nil
	}
	const most = 1 << 20
	status, body, err := h.get(ctx, h.base+"/_cat/indices?format=json", most)
	if err != nil {
		return "", err
	}
	if status == http.StatusNotFound {
		return "", &Refusal{Err: errors.New("the server takes no batches: it serves one index, not a folder of indexes")}
	}
	if status != http.StatusOK {
		return "", statusError(status, body)
	}
	var indexes []struct {
		Index string `json:"index"`
	}
	if err := json.Unmarshal(body, &indexes); err != nil {
		return "", fmt.Errorf("the server's list of indexes: %w", err)
	}
	if len(indexes) != 1 {
		return "", &Refusal{Err: fmt.Errorf("the server has %d indexes: name one of them", len(indexes))}
	}
	return h.setIndex(indexes[0].Index), nil
}
