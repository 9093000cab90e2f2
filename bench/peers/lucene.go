package main

import (
	"archive/zip"
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// luceneProcess is a process of Java that answers one line for each line.
type luceneProcess struct {
	java []string // the command and its options
	jar  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// luceneDocuments is the file of documents in the folder of the process.
const luceneDocuments = "documents.tsv"

// start runs a program of one file, which indexes luceneDocuments in dir and is then ready.
func (p *luceneProcess) start(ctx context.Context, dir, name string, program []byte, numDocs int) error {
	source := filepath.Join(dir, name)
	if err := os.WriteFile(source, program, 0o600); err != nil {
		return err
	}
	if err := writeLuceneServices(dir, p.jar); err != nil {
		return err
	}
	args := append(slices.Clone(p.java[1:]), "-Dorg.apache.lucene.store.MMapDirectory.enableMemorySegments=false",
		"-cp", dir+":"+p.jar, source, filepath.Join(dir, "index"), filepath.Join(dir, luceneDocuments))
	p.cmd = exec.CommandContext(ctx, p.java[0], args...)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	line, err := p.line()
	if want := fmt.Sprintf("ready\t%d", numDocs); err == nil && line != want {
		err = fmt.Errorf("%q, want %q", line, want)
	}
	return err
}

// luceneServices are the implementations that Lucene looks up by name, for a codec. Debian's file lacks the tables of these, and
// the classes for memory segments.
func luceneServices(codec string) map[string]string {
	return map[string]string{
		"codecs.Codec":            fmt.Sprintf("codecs.lucene%s.Lucene%[1]sCodec", codec),
		"codecs.PostingsFormat":   fmt.Sprintf("codecs.lucene%s.Lucene%[1]sPostingsFormat", codec),
		"codecs.DocValuesFormat":  "codecs.lucene90.Lucene90DocValuesFormat",
		"codecs.KnnVectorsFormat": "codecs.lucene99.Lucene99HnswVectorsFormat",
		"index.SortFieldProvider": "search.SortField$Provider",
	}
}

// luceneCodecs are the codecs of Lucene 9.12, and of 9.9 to 9.11.
var luceneCodecs = []string{"912", "99"}

// luceneCodec finds the newest codec in the files of a class path that can be read; by default it is the oldest one.
func luceneCodec(classPath string) (string, error) {
	for _, codec := range luceneCodecs {
		class := fmt.Sprintf("org/apache/lucene/codecs/lucene%s/Lucene%[1]sCodec.class", codec)
		for _, jar := range filepath.SplitList(classPath) {
			r, err := zip.OpenReader(jar)
			if err != nil { // a folder, a pattern, or a path in another root
				continue
			}
			found := slices.ContainsFunc(r.File, func(f *zip.File) bool { return f.Name == class })
			if err := r.Close(); err != nil {
				return "", err
			}
			if found {
				return codec, nil
			}
		}
	}
	return luceneCodecs[len(luceneCodecs)-1], nil
}

func writeLuceneServices(dir, classPath string) error {
	codec, err := luceneCodec(classPath)
	if err != nil {
		return err
	}
	services := filepath.Join(dir, "META-INF", "services")
	if err := os.MkdirAll(services, 0o700); err != nil {
		return err
	}
	for service, class := range luceneServices(codec) {
		path := filepath.Join(services, "org.apache.lucene."+service)
		if err := os.WriteFile(path, []byte("org.apache.lucene."+class+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a command and returns its answer.
func (p *luceneProcess) ask(values ...string) (string, error) {
	if _, err := fmt.Fprintln(p.in, strings.Join(values, "\t")); err != nil {
		return "", err
	}
	return p.line()
}

func (p *luceneProcess) line() (string, error) {
	line, err := p.out.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (p *luceneProcess) close() error {
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.cmd.Wait()
}
