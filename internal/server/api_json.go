package server

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/jsonout"
)

// answerBuffers hold answers while they are made and sent.
var answerBuffers = sync.Pool{New: func() any { return new(answerBuffer) }}

type answerBuffer struct {
	bytes []byte
	hits  []hitResponse
}

// maxKeptAnswer bounds the memory of a buffer that is used again.
const maxKeptAnswer = 1 << 20

// maxKeptHits bounds the memory for hits that is used again.
const maxKeptHits = 128

// formerResults are *griffin.Results that were written.
var formerResults sync.Pool

func newAnswerBuffer() *answerBuffer {
	b, _ := answerBuffers.Get().(*answerBuffer)
	b.bytes = b.bytes[:0]
	return b
}

func (b *answerBuffer) release() {
	clear(b.hits)
	if b.hits = b.hits[:0]; cap(b.hits) > maxKeptHits {
		b.hits = nil
	}
	if cap(b.bytes) <= maxKeptAnswer {
		answerBuffers.Put(b)
	}
}

// appendJSON appends the response as encoding/json does without escapes for HTML, and a line end. Only facets, traces and the
// values of sort keys, which most answers lack, are encoded by reflection.
func (r *searchResponse) appendJSON(dst []byte) ([]byte, error) {
	mode, err := r.Mode.MarshalText()
	if err != nil {
		return dst, err
	}
	dst = jsonout.AppendString(append(dst, `{"query":`...), r.Query)
	dst = jsonout.AppendString(append(dst, `,"parsed":`...), r.Parsed)
	dst = append(append(append(dst, `,"mode":"`...), mode...), `","engine":`...)
	dst = jsonout.AppendString(dst, r.Engine)
	dst = appendCount(dst, `,"k":`, int64(r.K))
	if r.Offset != 0 {
		dst = appendCount(dst, `,"offset":`, int64(r.Offset))
	}
	dst = appendCount(dst, `,"took_us":`, r.TookMicros)
	dst = appendCount(dst, `,"total":{"value":`, r.Total.Value)
	dst = jsonout.AppendString(append(dst, `,"relation":`...), r.Total.Relation)
	dst = append(dst, `},"hits":[`...)
	for i := range r.Hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = r.Hits[i].appendJSON(dst); err != nil {
			return dst, err
		}
	}
	dst = append(dst, ']')
	if len(r.Facets) > 0 {
		if dst, err = appendReflected(append(dst, `,"facets":`...), r.Facets); err != nil {
			return dst, err
		}
	}
	if r.Missed != 0 {
		dst = jsonout.AppendFloat(append(dst, `,"missed":`...), r.Missed)
	}
	if r.Cached {
		dst = append(dst, `,"cached":true`...)
	}
	if len(r.Notes) > 0 {
		dst = append(dst, `,"notes":[`...)
		for i, note := range r.Notes {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonout.AppendString(dst, note)
		}
		dst = append(dst, ']')
	}
	if r.Trace != nil {
		if dst, err = appendReflected(append(dst, `,"trace":`...), r.Trace); err != nil {
			return dst, err
		}
	}
	return append(dst, "}\n"...), nil
}

func (h *hitResponse) appendJSON(dst []byte) (_ []byte, err error) {
	dst = appendCount(dst, `{"rank":`, int64(h.Rank))
	dst = jsonout.AppendString(append(dst, `,"id":`...), h.ID)
	dst = jsonout.AppendFloat(append(dst, `,"score":`...), h.Score)
	if len(h.Sort) > 0 {
		if dst, err = appendReflected(append(dst, `,"sort":`...), h.Sort); err != nil {
			return dst, err
		}
	}
	for _, text := range [...]struct{ key, value string }{
		{`,"title":`, h.Title}, {`,"snippet":`, h.Snippet}, {`,"snippet_html":`, h.SnippetHTML},
	} {
		if text.value != "" {
			dst = jsonout.AppendString(append(dst, text.key...), text.value)
		}
	}
	if len(h.Fields) > 0 {
		dst = appendFields(append(dst, `,"fields":[`...), h.Fields)
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}

func appendFields(dst []byte, fields []griffin.Field) []byte {
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonout.AppendString(append(dst, `{"name":`...), fields[i].Name)
		dst = append(jsonout.AppendString(append(dst, `,"value":`...), fields[i].Value), '}')
	}
	return dst
}

func appendCount(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

// appendReflected appends v as encoding/json writes it.
func appendReflected(dst []byte, v any) ([]byte, error) {
	to := bytes.NewBuffer(dst)
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(to.Bytes(), []byte("\n")), err
}
