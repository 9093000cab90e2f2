package corpus

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

type lineEcho struct{}

func (lineEcho) end() {}

func (lineEcho) parse(line []byte, at Location) (*Document, *RecordError) {
	return &Document{Text: string(line), Source: at}, nil
}

func splitAll(t *testing.T, in io.Reader, limit int) *result {
	t.Helper()
	r := &reader{opts: Options{Stdin: in, MaxRecordBytes: limit}}
	r.inputs = []input{{path: stdinPath, format: &format{
		split: func(s *stream, r *reader) splitter {
			return splitLines(s, r, func() lineParser { return lineEcho{} })
		},
	}}}
	res, err := collect(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Some lines are longer than a batch, some than the limit.
func TestLinesAgainstSplit(t *testing.T) {
	const limit = 3 * batchBytes
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var text strings.Builder
		for range 60 {
			switch rng.IntN(12) {
			case 0:
				text.WriteString(strings.Repeat("L", batchBytes+rng.IntN(limit)))
			case 1: // the edges
				text.WriteString(strings.Repeat("E", []int{batchBytes - 1, batchBytes, limit - 1, limit, limit + 1}[rng.IntN(5)]))
			case 2:
			default:
				text.WriteString(strings.Repeat("s", rng.IntN(100_000)))
			}
			text.WriteString([]string{"\n", "\n", "\r\n"}[rng.IntN(3)])
		}
		if seed%2 == 0 {
			text.WriteString("no line end")
		}
		var want []Document
		var bad []string
		for i, line := range strings.Split(text.String(), "\n") {
			switch text := strings.TrimSuffix(line, "\r"); {
			case text == "":
			case len(line) > limit:
				bad = append(bad, fmt.Sprintf("-:%d: the record is longer than the limit of %d bytes", i+1, limit))
			default:
				want = append(want, Document{Text: text, Source: Location{File: "-", Line: int64(i + 1)}})
			}
		}
		readers := []io.Reader{strings.NewReader(text.String()), iotest.HalfReader(strings.NewReader(text.String())), iotest.DataErrReader(strings.NewReader(text.String()))}
		got := splitAll(t, readers[seed%3], limit)
		if len(got.docs) != len(want) {
			t.Fatalf("seed %d: %d lines, want %d", seed, len(got.docs), len(want))
		}
		for i := range want {
			if got.docs[i].Source != want[i].Source || got.docs[i].Text != want[i].Text {
				t.Fatalf("seed %d: line %v of %d bytes, want %v of %d", seed, got.docs[i].Source, len(got.docs[i].Text), want[i].Source, len(want[i].Text))
			}
		}
		checkBad(t, got.bad, bad...)
	}
}

func TestSmallLimit(t *testing.T) {
	res := splitAll(t, strings.NewReader("\ufeffshort\nmuch too long\nshort\n\n  \nlonger still"), 5)
	checkBad(t, res.bad, "-:2: the record is longer than the limit of 5 bytes", "-:6: the record is longer")
	if len(res.docs) != 2 || res.docs[0].Text != "short" || res.docs[1].Source.Line != 3 {
		t.Errorf("%+v", res.docs)
	}
}

func gzipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t testing.TB, s string, opts ...zstd.EOption) string {
	t.Helper()
	w, err := zstd.NewWriter(nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(s), nil))
}

// {"id":"1","text":"from bzip2"}\n.
const bzip2Line = "QlpoOTFBWSZTWaeA5JkAAA7ZgAAQUAQwEBci1FogACIho0GgabUKBpoZGTEGkthpDCqTRLPbGQ89HCAA/i7kinChIU8ByTI="

func TestCompressionIsSeenThrough(t *testing.T) {
	bz, err := base64.StdEncoding.DecodeString(bzip2Line)
	if err != nil {
		t.Fatal(err)
	}
	line := `{"id":"1","text":"x"}` + "\n"
	for name, content := range map[string]string{
		"gzip":         gzipped(t, line),
		"gzip members": gzipped(t, line) + gzipped(t, line),
		"zstd":         zstded(t, line),
		"zstd frames":  zstded(t, line) + zstded(t, line),
		"zstd window":  zstded(t, strings.Repeat(line, 1), zstd.WithWindowSize(maxWindowBytes)),
		"zstd skip":    "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstded(t, line),
		"bzip2":        string(bz),
	} {
		t.Run(name, func(t *testing.T) {
			res := mustCollect(t, []string{filepath.Join(writeFiles(t, map[string]string{"file.txt": content}), "file.txt")}, Options{})
			checkBad(t, res.bad)
			if len(res.docs) == 0 || res.docs[0].ID != "1" {
				t.Errorf("%s: %+v", name, res.docs)
			}
			checkBad(t, collectString(t, content, Options{}).bad)
		})
	}
	for content, want := range map[string]string{"\xfd7zXZ\x00": "xz compression is not supported", "\x1f\x9dxyz": "compress (.Z) is not supported"} {
		t.Run(content, func(t *testing.T) {
			res := collectString(t, content, Options{Format: "jsonl"})
			checkBad(t, res.bad, "-: "+want)
		})
	}
}

// The part before the cut is used, an error reports the place of the rest, and the next file is
// read.
func TestCutOffStreams(t *testing.T) {
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"id":"%d","text":"%x"}`+"\n", i, rand.New(rand.NewPCG(uint64(i), 1)).Uint64())
	}
	for name, content := range map[string]string{"gzip": gzipped(t, lines.String()), "zstd": zstded(t, lines.String(), zstd.WithEncoderLevel(zstd.SpeedFastest))} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"1.jsonl": content[:len(content)*2/3], "2.jsonl": `{"id":"last","text":"x"}`})
			res := mustCollect(t, []string{dir}, Options{})
			n := len(res.docs)
			if n < 1 || n > 2900 || res.docs[n-1].ID != "last" {
				t.Errorf("%s: %d documents", name, n)
			}
			if name == "gzip" && n < 1000 {
				t.Errorf("%s: only %d documents of the first two thirds", name, n)
			}
			used := 0
			for _, d := range res.docs[:n-1] {
				used += len(fmt.Sprintf(`{"id":"%s","text":"%s"}`+"\n", d.ID, d.Text))
			}
			place := filepath.Join(dir, "1.jsonl")
			if used > 0 {
				place = fmt.Sprintf("%s@%d", place, used)
			}
			checkBad(t, res.bad, fmt.Sprintf("%s: reading the %s stream after %d bytes; the rest of the file is lost: cut off: unexpected EOF", place, name, used))
		})
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk gone")
	res := splitAll(t, io.MultiReader(strings.NewReader("one\ntwo\nthr"), iotest.ErrReader(broken)), 100)
	checkBad(t, res.bad, "-@8: reading after 8 bytes; the rest of the file is lost: disk gone")
	if len(res.docs) != 2 {
		t.Errorf("%d documents, want 2", len(res.docs))
	}
}

func TestTSV(t *testing.T) {
	res := collectString(t, "0\tThe presence of \"communication\"\r\n\nD1\thttp://a.b/\tTitle\tBody text\nD2\t\t\t\n", Options{})
	checkBad(t, res.bad)
	checkDocs(
		t, res.docs,
		Document{ID: "0", Text: `The presence of "communication"`},
		Document{ID: "D1", Title: "Title", Text: "Body text", Extra: []Field{{"url", "http://a.b/"}}},
		Document{ID: "D2"},
	)
	res = collectString(t, "1\tok\nonly one\n\tno id\n2\ta\tb\n3\t\xff\n", Options{Format: "msmarco-tsv"})
	checkBad(
		t, res.bad,
		"-:2: 1 columns, neither 2 (id, text) nor 4 (id, url, title, body)",
		`-:3: field "id": the id is empty`,
		"-:4: 3 columns",
		"-:5: invalid UTF-8",
	)
}

// No s may cause a panic or an error of Next, and all strings must be UTF-8.
func fuzzFormat(t *testing.T, name, s string) *result {
	t.Helper()
	res := collectString(t, s, Options{Format: name, MaxRecordBytes: 1 << 10})
	for _, d := range res.docs {
		if d.ID == "" || d.Source.File != "-" {
			t.Fatalf("%+v", d)
		}
		all := d.ID + d.Title + d.Text
		for _, f := range d.Extra {
			all += f.Name + f.Value
		}
		if strings.ToValidUTF8(all, "") != all {
			t.Fatalf("%+v", d)
		}
	}
	return res
}

func FuzzTSV(f *testing.F) {
	f.Add("1\ttext\n2\turl\ttitle\tbody\r\n\nx\n\xff\t\n")
	f.Fuzz(func(t *testing.T, s string) {
		if decompresses(s) {
			t.Skip()
		}
		lines := 0
		for _, line := range strings.Split(strings.TrimPrefix(s, "\ufeff"), "\n") {
			if len(bytes.TrimSpace([]byte(line))) > 0 {
				lines++
			}
		}
		if res := fuzzFormat(t, "msmarco-tsv", s); len(res.docs)+len(res.bad) != lines {
			t.Fatalf("%d documents and %d bad records of %d lines", len(res.docs), len(res.bad), lines)
		}
	})
}

func decompresses(s string) bool {
	for _, magic := range []string{"\x1f\x8b", "\x1f\x9d", "\x28\xb5\x2f\xfd", "BZh", "\xfd7zXZ\x00"} {
		if strings.HasPrefix(s, magic) {
			return true
		}
	}
	return isSkippableFrame([]byte(s))
}

func FuzzDecompress(f *testing.F) {
	line := `{"id":"1","text":"x"}` + "\n"
	f.Add(gzipped(f, line))
	f.Add(zstded(f, line))
	f.Add("BZh91AY&SY")
	f.Fuzz(func(t *testing.T, s string) { fuzzFormat(t, "jsonl", s) })
}
