package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
)

// Lines appends documents as lines of JSON.
type Lines struct {
	scalars map[string]bool // fields of numbers and booleans
}

// NewLines returns Lines for the documents of an index with a mapping; nil: all fields are texts.
func NewLines(m *griffin.Mapping) *Lines {
	l := &Lines{scalars: map[string]bool{}}
	if m == nil {
		return l
	}
	for _, f := range m.Fields() {
		switch f.Type {
		case "long", "integer", "short", "byte", "double", "float", "boolean":
			l.scalars[f.Name] = true
		}
	}
	return l
}

// appendValue appends a number or boolean as JSON has it, if the text is one, else a string. Blanks around it could end the line.
func (l *Lines) appendValue(dst []byte, f *griffin.Field) []byte {
	if text := strings.TrimSpace(f.Value); l.scalars[f.Name] && text != "" && text[0] != '"' && text[0] != '{' && text[0] != '[' && json.Valid([]byte(text)) {
		return append(dst, text...)
	}
	return appendString(dst, f.Value)
}

// Append appends a document as a line, which griffin index reads: the object that was written over
// HTTP, or title, text and fields, with the id as "_id". A field of several values is a list.
func (l *Lines) Append(dst []byte, d *griffin.Document) []byte {
	dst = appendString(append(dst, `{"_id":`...), d.ID)
	for i := range d.Fields {
		if d.Fields[i].Name == sourceField {
			return appendMembers(dst, d.Fields[i].Value)
		}
	}
	member := func(name, value string) {
		dst = appendString(append(appendString(append(dst, ','), name), ':'), value)
	}
	if d.Title != "" {
		member("title", d.Title)
	}
	if d.Text != "" {
		member("text", d.Text)
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		same := func(o griffin.Field) bool { return o.Name == f.Name }
		switch {
		case slices.ContainsFunc(d.Fields[:i], same): // in the list of the first
		case !slices.ContainsFunc(d.Fields[i+1:], same):
			dst = l.appendValue(append(appendString(append(dst, ','), f.Name), ':'), f)
		default:
			dst = append(appendString(append(dst, ','), f.Name), ':', '[')
			for j := range d.Fields[i:] {
				if o := &d.Fields[i+j]; same(*o) {
					if j > 0 {
						dst = append(dst, ',')
					}
					dst = l.appendValue(dst, o)
				}
			}
			dst = append(dst, ']')
		}
	}
	return append(dst, "}\n"...)
}

// appendMembers appends the members of a JSON object, which is valid, and ends the line.
func appendMembers(dst []byte, object string) []byte {
	var line bytes.Buffer
	if json.Compact(&line, []byte(object)) != nil || line.Len() < 2 {
		return append(dst, "}\n"...)
	}
	if line.Len() > len("{}") {
		dst = append(dst, ',')
	}
	return append(append(dst, line.Bytes()[1:]...), '\n')
}

// exportIndex sends all documents as lines. It is not of OpenSearch. An answer that was cut off lacks the end of the
// chunks of HTTP, which clients notice.
func exportIndex(r *request) (answer, *Error) {
	if err := r.whole(); err != nil {
		return answer{}, err
	}
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := http.NewResponseController(r.w)
	out := bufio.NewWriterSize(deadlineWriter{r.w, c, r.h.options.Timeout}, 64<<10)
	lines := NewLines(x.ix.Mapping())
	var line []byte
	started := false
	for d, docErr := range x.ix.Documents(ctx) {
		if docErr != nil {
			if started {
				panic(http.ErrAbortHandler) // the client sees that the answer is not complete
			}
			return answer{}, r.h.explain(ctx, x, docErr)
		}
		if !started {
			started = true
			r.w.Header().Set("Content-Type", "application/x-ndjson")
			r.w.WriteHeader(http.StatusOK)
		}
		line = lines.Append(line[:0], &d)
		if _, err := out.Write(line); err != nil {
			panic(http.ErrAbortHandler) // the client has left
		}
	}
	if !started {
		r.w.Header().Set("Content-Type", "application/x-ndjson")
		r.w.WriteHeader(http.StatusOK)
	}
	if out.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	return answer{sent: true}, nil
}

// deadlineWriter gives each write time.
type deadlineWriter struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
}

// Write implements io.Writer.
func (d deadlineWriter) Write(p []byte) (int, error) {
	_ = d.c.SetWriteDeadline(time.Now().Add(d.timeout)) // a test's recorder has none
	return d.w.Write(p)
}
