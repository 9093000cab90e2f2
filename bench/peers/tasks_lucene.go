package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// luceneTasks runs tasks in a process of Java, which measures itself: the times leave out the pipes. The tokens
// and the values are the same as in the other engines. Lucene may stop counting the matches of a search after 1,000,
// as it does by default.
type luceneTasks struct {
	java []string // the command and its options
	jar  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

var _ taskEngine = (*luceneTasks)(nil)

//go:embed lucene/LuceneTasks.java
var luceneSource []byte

func (*luceneTasks) name() string { return "Lucene" }

func (e *luceneTasks) build(ctx context.Context, dir string, passages []taskPassage) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	source, documents := filepath.Join(dir, "LuceneTasks.java"), filepath.Join(dir, "documents.tsv")
	if err := os.WriteFile(source, luceneSource, 0o600); err != nil {
		return err
	}
	if err := writeLuceneDocuments(documents, passages); err != nil {
		return err
	}
	if err := writeLuceneServices(dir); err != nil {
		return err
	}
	args := append(slices.Clone(e.java[1:]), "-Dorg.apache.lucene.store.MMapDirectory.enableMemorySegments=false",
		"-cp", dir+":"+e.jar, source, filepath.Join(dir, "index"), documents)
	e.cmd = exec.CommandContext(ctx, e.java[0], args...)
	e.cmd.Stderr = os.Stderr
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	e.out = bufio.NewReader(out)
	if err := e.cmd.Start(); err != nil {
		return err
	}
	line, err := e.line()
	if want := fmt.Sprintf("ready\t%d", len(passages)); err == nil && line != want {
		err = fmt.Errorf("%q, want %q", line, want)
	}
	return err
}

// luceneServices are the implementations that Lucene looks up by name. Debian's file lacks the tables of these, and
// the classes for memory segments.
var luceneServices = map[string]string{
	"codecs.Codec":            "codecs.lucene99.Lucene99Codec",
	"codecs.PostingsFormat":   "codecs.lucene99.Lucene99PostingsFormat",
	"codecs.DocValuesFormat":  "codecs.lucene90.Lucene90DocValuesFormat",
	"codecs.KnnVectorsFormat": "codecs.lucene99.Lucene99HnswVectorsFormat",
	"index.SortFieldProvider": "search.SortField$Provider",
}

func writeLuceneServices(dir string) error {
	services := filepath.Join(dir, "META-INF", "services")
	if err := os.MkdirAll(services, 0o700); err != nil {
		return err
	}
	for service, class := range luceneServices {
		path := filepath.Join(services, "org.apache.lucene."+service)
		if err := os.WriteFile(path, []byte("org.apache.lucene."+class+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func writeLuceneDocuments(path string, passages []taskPassage) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range passages {
		p := &passages[i]
		values := []string{p.ID, strings.Join(wordsOf(p.Title+" "+p.Text), " ")}
		for _, name := range numberFieldNames {
			values = append(values, strconv.FormatInt(p.number(name), 10))
		}
		for _, name := range keywordFieldNames {
			values = append(values, strings.NewReplacer("\t", " ", "\n", " ").Replace(p.keyword(name)))
		}
		if _, err := fmt.Fprintln(w, strings.Join(values, "\t")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// ask sends a command and returns its answer.
func (e *luceneTasks) ask(values ...string) (string, error) {
	if _, err := fmt.Fprintln(e.in, strings.Join(values, "\t")); err != nil {
		return "", err
	}
	return e.line()
}

func (e *luceneTasks) line() (string, error) {
	line, err := e.out.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (e *luceneTasks) prepare(t *task) (func(ctx context.Context) (taskAnswer, error), error) {
	text, err := e.ask(t.lucene()...)
	if err != nil {
		return nil, err
	}
	total, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (taskAnswer, error) {
		line, err := e.ask("run")
		if err != nil {
			return taskAnswer{}, err
		}
		a, err := parseLuceneAnswer(line)
		a.total = total
		return a, err
	}, nil
}

// lucene is the command that prepares the task.
func (t *task) lucene() []string {
	flag := func(set bool) string {
		if set {
			return "1"
		}
		return ""
	}
	kind, text := "words", strings.Join(t.words, " ")
	switch {
	case t.every:
		kind = "every"
	case t.numbers != nil:
		kind, text = "range", t.numbers.lucene()
	case t.prefix != "":
		kind, text = "prefix", t.prefix
	case t.wildcard != "":
		kind, text = "wildcard", t.wildcard
	case t.fuzzy != "":
		kind, text = "fuzzy", t.fuzzy
	case len(t.phrase) > 0:
		kind, text = "phrase", strings.Join(t.phrase, " ")
	}
	filter, within := "", ""
	if t.filter {
		filter = taskFilter
	}
	if t.within != nil {
		within = t.within.lucene()
	}
	return []string{"task", kind, text, flag(t.all), strconv.Itoa(t.edits), filter, within, t.sort, flag(t.desc), t.facet, flag(t.count)}
}

func (r *numberRange) lucene() string { return fmt.Sprintf("%s %d %d", r.field, r.lo, r.hi) }

// parseLuceneAnswer parses the answer to "run".
func parseLuceneAnswer(line string) (a taskAnswer, err error) {
	values := strings.Split(line, "\t")
	if len(values) != 3 {
		return a, fmt.Errorf("answer %q", line)
	}
	nanos, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return a, err
	}
	a.took = time.Duration(nanos)
	a.ids = strings.Fields(values[1])
	a.facets = map[string]int64{}
	for _, pair := range strings.Fields(values[2]) {
		at := strings.LastIndexByte(pair, '=')
		if a.facets[pair[:max(at, 0)]], err = strconv.ParseInt(pair[at+1:], 10, 64); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (e *luceneTasks) close() error {
	if e.cmd == nil || e.cmd.Process == nil {
		return nil
	}
	if err := e.in.Close(); err != nil {
		return err
	}
	return e.cmd.Wait()
}
