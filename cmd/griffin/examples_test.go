package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/selftest"
)

var onlyParsed = []struct{ prefix, why string }{
	{"griffin serve", "it does not end; TestServeProcess runs it"},
	{"griffin snapshot create notes.idx 's3:", "it needs a bucket; TestSnapshotBucket runs it"},
	{"griffin watch ~/notes --out notes.idx  ", "it does not end; TestWatchProcess runs it"},
	{"griffin watch /mnt/share", "it does not end"},
	{"griffin watch ~/notes --out notes --server", "it needs a server; TestWatchServer runs it"},
	{"griffin demo  ", "it indexes the documentation of Go"},
	{"curl", "it needs a server on the default port"},
	{"griffin load", "it takes minutes; load.txtar runs it"},
	{"griffin lab", "it needs collections, and takes minutes"},
	{"griffin policies", "it needs a GPU; policies.txtar runs it"},
	{"griffin bench wiki.idx --queries tb05.tsv --device gpu", "it needs a GPU; gpu.txtar runs it"},
	{"griffin search notes.idx --device gpu", "it needs a GPU; gpu.txtar runs it"},
}

// Every example parses, and runs in a folder with the files that it names.
func TestExamples(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Example != "" {
			t.Run(c.CommandPath(), func(t *testing.T) {
				u := newExampleUser(t)
				for line := range strings.Lines(c.Example) {
					if line = withoutRemark(line); line != "" {
						u.example(line)
					}
				}
			})
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand(&app{console: &console{}}))
}

func withoutRemark(line string) string {
	line, _, _ = strings.Cut(line, " # ")
	return strings.TrimSpace(line)
}

type exampleUser struct {
	t        *testing.T
	bin, dir string
}

func newExampleUser(t *testing.T) exampleUser {
	t.Helper()
	u := exampleUser{t: t, bin: t.TempDir(), dir: t.TempDir()}
	selftest.Link(t, filepath.Join(u.bin, "griffin"), "griffin")
	u.write("notes/http.md", "# HTTP\n\nThe http server has a rate limit.\n")
	u.write("notes/parser.md", "# The parser\n\nAn error of the parser. A united kingdom of words.\n")
	u.write("notes/new/more.md", "# More\n\nMore about a rate and a limit.\n")
	record := `{"_id":"1","title":"A","text":"the rate limit of united kingdom"}` + "\n"
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	u.write("wiki-1.jsonl.zst", string(encoder.EncodeAll([]byte(record), nil)))
	u.write("cities.json", `{"properties":{"population":{"type":"long"},"location":{"type":"geo_point"}}}`)
	city := `{"id":"1","name":"Soldeu","population":602,"location":{"lat":42.57,"lon":1.66}}` + "\n"
	u.write("cities.jsonl.zst", string(encoder.EncodeAll([]byte(city), nil)))
	u.write("dump.tsv.gz", zipped(t, "1\tthe rate limit\n"))
	u.write("vectors.jsonl.gz", zipped(t, `{"id":"1","vector":{"rate":1.7}}`+"\n"))
	queries := "1\trate limit\n2\tunited kingdom\n"
	u.write("queries.tsv", queries)
	for i := range 40 { // griffin train needs that many
		queries += fmt.Sprintf("%d\tthe rate of words\n", i+3)
	}
	u.write("tb05.tsv", queries)
	u.write("qrels.txt", "1 0 http.md 1\n2 0 parser.md 1\n")
	u.write("backup/README", "copies of indexes\n")
	return u
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (u exampleUser) write(name, text string) {
	u.t.Helper()
	name = filepath.Join(u.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u exampleUser) example(line string) {
	u.t.Helper()
	words := u.words(line)
	for len(words) > 0 {
		end := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == "&&" || w == ">" })
		command := words
		if end >= 0 {
			command, words = words[:end], words[end+1:]
		} else {
			words = nil
		}
		if command[0] == "griffin" {
			u.parse(line, command[1:])
		}
	}
	if slices.ContainsFunc(onlyParsed, func(o struct{ prefix, why string }) bool { return strings.HasPrefix(line+"  ", o.prefix) }) {
		return
	}
	u.prepare(line)
	if out, err := u.shell(line); err != nil {
		u.t.Errorf("%s: %v\n%s", line, err, out)
	}
}

func (u exampleUser) parse(line string, words []string) {
	u.t.Helper()
	c, rest, err := newRootCommand(&app{console: &console{}}).Find(words)
	if err == nil {
		if err = c.ParseFlags(rest); err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
	}
	if err != nil {
		u.t.Errorf("%s: %v", line, err)
	}
}

func (u exampleUser) prepare(line string) {
	u.t.Helper()
	words := u.words(line)
	for i, w := range words {
		target := ""
		switch {
		case i > 0 && (words[i-1] == "--out" || words[i-1] == "add" || words[i-1] == ">"):
			continue
		case strings.HasSuffix(w, ".idx"):
			target = "griffin index --out " + w + " ~/notes"
		case strings.HasSuffix(w, ".ciff.gz"):
			target = "griffin index --out of-ciff.idx --replace ~/notes && griffin ciff export of-ciff.idx | gzip > " + w
		case strings.HasSuffix(w, ".ciff"):
			target = "griffin index --out of-ciff.idx --replace ~/notes && griffin ciff export of-ciff.idx --out " + w
		case strings.HasSuffix(w, ".run"):
			target = "griffin index --out of-run.idx --replace ~/notes && griffin run of-run.idx --topics queries.tsv --out " + w
		default:
			continue
		}
		if !exists(filepath.Join(u.dir, w)) {
			if out, err := u.shell(target); err != nil {
				u.t.Fatalf("%s: %v\n%s", target, err, out)
			}
		}
	}
}

// words splits a line like a shell.
func (u exampleUser) words(line string) []string {
	u.t.Helper()
	out, err := u.shell(`printf '%s\n' ` + strings.NewReplacer(" | ", ` '|' `, " && ", ` '&&' `, " > ", ` '>' `).Replace(line))
	if err != nil {
		u.t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func (u exampleUser) shell(line string) ([]byte, error) {
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "PATH="+u.bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+u.dir, "NO_COLOR=1", "GORACE=atexit_sleep_ms=0",
		"XDG_CACHE_HOME="+filepath.Join(u.dir, "cache"))
	return cmd.CombinedOutput()
}
