package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
)

const (
	// maxSearches, maxFound and maxAnswerBytes bound a multi-search: its searches, the hits that they may ask for
	// together, and their answers. Searches after the last bound are errors.
	maxSearches    = 10_000
	maxFound       = 1_000_000
	maxAnswerBytes = 256 << 20
	// maxKeptBytes bounds the answers whose memory is kept for a later multi-search.
	maxKeptBytes = 4 << 20
)

// multiSearch is a request with many searches.
type multiSearch struct {
	r        *request
	searches []*oneSearch
	lines    []int // of the bodies of searches
	options  searchOptions
	flat     bool // rest_total_hits_as_int
	typed    bool // typed_keys
	found    int
	answered atomic.Int64 // bytes
}

// oneSearch is a search of a multiSearch.
type oneSearch struct {
	index *Index
	searchRequest
	planned griffin.Query // of a batch
	out     answer
	err     *Error
}

// searchHeader is the line before a search.
type searchHeader struct {
	Index indexName
	searchOptions
}

// indexName is a text, or a list of one.
type indexName string

// UnmarshalJSON implements json.Unmarshaler.
func (n *indexName) UnmarshalJSON(raw []byte) error {
	var list []string
	if err := json.Unmarshal(raw, (*string)(n)); err == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &list); err != nil || len(list) != 1 {
		return fmt.Errorf("[index] is %.60s: want the name of one index", raw)
	}
	*n = indexName(list[0])
	return nil
}

// parse reads a line. A blank one changes nothing.
func (h *searchHeader) parse(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || string(line) == "{}" {
		return nil
	}
	if before, ok := bytes.CutPrefix(line, []byte(`{"index":`)); ok {
		if raw, ok := bytes.CutSuffix(before, []byte("}")); ok {
			if name, ok := plainString(bytes.TrimSpace(raw)); ok {
				h.Index = indexName(name)
				return nil
			}
		}
	}
	if fault := faultOf(line); fault != nil {
		return fault
	}
	to := map[string]any{"index": &h.Index}
	for name := range searchOptionKinds {
		to[name] = &headerOption{&h.searchOptions, name}
	}
	fault := decodeMembers(line, line, to)
	if fault != nil {
		return fault
	}
	return nil
}

func searchMany(r *request) (answer, *Error) {
	options, err := r.searchOptions()
	if err != nil {
		return answer{}, err
	}
	m := multiSearch{r: r, options: options}
	for name, to := range map[string]*bool{"rest_total_hits_as_int": &m.flat, "typed_keys": &m.typed} {
		var err *Error
		if *to, err = r.boolean(name, false); err != nil {
			return answer{}, err
		}
	}
	if err := m.read(); err != nil {
		return answer{}, err
	}
	limit := uint64(runtime.GOMAXPROCS(0))
	if n, given, err := r.number("max_concurrent_searches"); err != nil {
		return answer{}, err
	} else if given {
		limit = min(max(n, 1), limit)
	}
	err = r.admitted(m.someIndex(), true /* multi */, func(ctx context.Context) error { return m.run(ctx, int(limit)) })
	if err != nil {
		return answer{}, err
	}
	to := m.body()
	return answer{status: http.StatusOK, body: rawJSON(to.bytes), memory: to}, nil
}

// someIndex is the index of errors of the request as a whole.
func (m *multiSearch) someIndex() *Index {
	for _, s := range m.searches {
		if s.index != nil && !s.index.absent {
			return s.index
		}
	}
	return new(Index)
}

// read reads the searches. Errors in the lines of the bodies are of their searches.
func (m *multiSearch) read() *Error {
	m.r.deadlines()
	from, apiErr := m.r.reader()
	if apiErr != nil {
		return apiErr
	}
	lines := newBulkReader(from, maxQueryText)
	for {
		header, err := lines.readLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m.unreadable(lines, err)
		}
		if len(m.searches) == maxSearches {
			return illegal("a multi-search has at most [%d] searches", maxSearches)
		}
		blank := len(bytes.TrimSpace(header)) == 0
		if blank && lines.line == 1 && m.r.PathValue("index") == "" {
			continue // names no index, so it is not a header
		}
		h := searchHeader{indexName(m.r.PathValue("index")), m.options}
		if err := h.parse(header); err != nil {
			return badRequest(typeParsing, "line [%d], the header of search [%d]: %s", lines.line, len(m.searches)+1, err)
		}
		body, err := lines.readLine()
		if errors.Is(err, io.EOF) && blank {
			break // empty lines may end the request
		}
		if errors.Is(err, io.EOF) {
			return badRequest(typeParsing, "line [%d]: the body of search [%d] is missing", lines.line, len(m.searches)+1)
		}
		if err != nil {
			return m.unreadable(lines, err)
		}
		if err := m.add(h, body, lines.line); err != nil {
			return err
		}
	}
	if len(m.searches) == 0 {
		return badRequest(typeValidation, "Validation Failed: 1: no requests added;")
	}
	return nil
}

func (m *multiSearch) unreadable(lines *bulkReader, err error) *Error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit, sendParts)
	case errors.Is(err, errLongLine):
		return badRequest(typeParsing, "line [%d] has more than [%d] bytes", lines.line, maxQueryText)
	}
	return badRequest(typeParsing, "line [%d] cannot be read: %v", lines.line, err)
}

func (m *multiSearch) add(h searchHeader, body []byte, line int) *Error {
	s := &oneSearch{searchRequest: newSearchRequest()}
	s.flat, s.typed = m.flat, m.typed
	if h.Index == "" {
		s.err = illegal("search [%d] names no index, neither in its header nor in the address", len(m.searches)+1)
	} else if s.index, s.err = m.r.h.dir.findFor(string(h.Index), h.searchOptions); s.err == nil {
		s.err = s.parse(bytes.Clone(body)) // a search keeps parts of it
	}
	if s.err == nil {
		m.found += s.from + s.size
		if m.found > maxFound {
			return illegal("the searches of a multi-search ask for more than [%d] hits together", maxFound)
		}
	}
	m.searches, m.lines = append(m.searches, s), append(m.lines, line)
	return nil
}

func (s *oneSearch) parse(body []byte) *Error {
	if len(bytes.TrimSpace(body)) > 0 {
		if err := checkBody(body); err != nil {
			return err
		}
		if err := s.parseBody(s.index, body); err != nil {
			return err
		}
	}
	return s.checkWindow(s.index)
}

// run answers the searches: those that a batch can have in one batch for each index, the others each by
// itself, limit at a time. The error is of the request as a whole.
func (m *multiSearch) run(ctx context.Context, limit int) error {
	together := map[*Index][]*oneSearch{}
	var indexes []*Index
	var single []*oneSearch
	for _, s := range m.searches {
		switch {
		case s.err != nil:
		case s.batched():
			s.planned = s.griffinQuery(s.index)
			if together[s.index] == nil {
				indexes = append(indexes, s.index)
			}
			together[s.index] = append(together[s.index], s)
		default:
			single = append(single, s)
		}
	}
	for _, x := range indexes {
		searches := together[x]
		memory, _ := batchMemories.Get().(*batchMemory)
		for _, s := range searches {
			memory.queries = append(memory.queries, s.planned)
		}
		results, err := x.ix.SearchBatchInto(ctx, memory.queries, memory.results)
		if err != nil && ctx.Err() != nil {
			return err
		}
		parallel(searches, limit, func(i int, s *oneSearch) {
			switch {
			case err != nil:
				s.err = m.r.h.explain(ctx, x, err)
			case results[i].Err != nil:
				s.err = s.located(x, m.r.h.explain(ctx, x, results[i].Err))
			default:
				m.finish(ctx, s, func() error { return s.write(ctx, x, s.planned, &results[i].Results, &s.out) })
			}
		})
		if err == nil && m.answered.Load() <= maxKeptBytes {
			memory.release(results)
		}
	}
	parallel(single, limit, func(_ int, s *oneSearch) {
		m.finish(ctx, s, func() error { return s.answer(ctx, s.index, &s.out) })
	})
	return ctx.Err()
}

// batchMemory is the memory of a batch. It is kept for a later one, of any index, when the answers are written.
type batchMemory struct {
	queries []griffin.Query
	results []griffin.BatchResult
}

var batchMemories = sync.Pool{New: func() any { return new(batchMemory) }}

func (m *batchMemory) release(results []griffin.BatchResult) {
	clear(m.queries) // they refer to parts of the request
	m.queries, m.results = m.queries[:0], results
	batchMemories.Put(m)
}

// parallel calls f for each search, at most limit at the same time.
func parallel(searches []*oneSearch, limit int, f func(i int, s *oneSearch)) {
	limit = min(limit, len(searches))
	if limit <= 1 {
		for i, s := range searches {
			f(i, s)
		}
		return
	}
	var wait sync.WaitGroup
	var bug atomic.Pointer[any]
	size := (len(searches) + limit - 1) / limit
	at := 0
	for part := range slices.Chunk(searches, size) {
		first := at
		at += len(part)
		wait.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					bug.CompareAndSwap(nil, &value)
				}
			}()
			for i, s := range part {
				f(first+i, s)
			}
		})
	}
	wait.Wait()
	if value := bug.Load(); value != nil {
		panic(*value) // as in the goroutine of the request, where the server takes it
	}
}

// finish gets the answer of a search, unless the others have filled the request's.
func (m *multiSearch) finish(ctx context.Context, s *oneSearch, f func() error) {
	if m.answered.Load() < m.r.h.answerBytes {
		if err := f(); err != nil {
			s.err = s.located(s.index, m.r.h.explain(ctx, s.index, err))
			return
		}
		text, _ := s.out.body.(rawJSON)
		if m.answered.Add(int64(len(text))) <= m.r.h.answerBytes {
			return
		}
		s.out.memory.release()
		s.out = answer{}
	}
	s.err = illegal("the answers of a multi-search have more than [%d] bytes together: send fewer searches, or ask for less", m.r.h.answerBytes).of(s.index.name)
}

// batched reports whether griffin.Index.SearchBatch answers the search.
func (s *oneSearch) batched() bool { return !s.index.absent && s.isPlain() && !s.query.all }

// body joins the answers of the searches.
func (m *multiSearch) body() *buffer {
	to := newBuffer()
	out := slices.Grow(to.bytes, int(m.answered.Load())+len(m.searches)*len(`,"status":200},`)+64)
	out = strconv.AppendInt(append(out, `{"took":`...), time.Since(m.r.began).Milliseconds(), 10)
	out = append(out, `,"responses":[`...)
	for i, s := range m.searches {
		if i > 0 {
			out = append(out, ',')
		}
		if s.err != nil {
			m.r.h.metrics.failed(s.err)
			failed := *s.err // of other searches, too
			if failed.Status == http.StatusBadRequest {
				failed.Reason = fmt.Sprintf("line [%d]: %s", m.lines[i], failed.Reason)
			}
			text, _ := json.Marshal(failed.body()) // texts have a JSON form
			out = append(out, text...)
			continue
		}
		text, _ := s.out.body.(rawJSON)
		out = append(out, bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}"))...)
		out = append(out, `,"status":200}`...)
		s.out.memory.release()
		s.out = answer{}
	}
	to.bytes = append(out, "]}\n"...)
	return to
}
