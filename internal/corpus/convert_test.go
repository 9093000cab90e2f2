package corpus

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// zipped makes an archive of names and contents.
func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		if err == nil {
			_, err = f.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readFiles reads a folder with files of names and contents: documents as "id|title|text|name=value …", bad
// records and skipped files.
func readFiles(t *testing.T, opts Options, files map[string][]byte) (docs, bad []string, skipped []SkippedFile) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open([]string{dir}, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if err != nil {
			break
		}
		err = b.Parse(func(d *Document) error {
			if err := d.CheckUTF8(); err != nil {
				t.Error(err)
			}
			text := d.ID + "|" + d.Title + "|" + d.Text + "|"
			for _, f := range d.Extra {
				if f.Name != "path" {
					text += f.Name + "=" + f.Value + ";"
				}
			}
			docs = append(docs, text)
			return nil
		}, func(e *RecordError) error {
			bad = append(bad, strings.ReplaceAll(e.Error(), dir+string(filepath.Separator), ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range r.Summary().Skipped {
		s.File = strings.TrimPrefix(filepath.ToSlash(s.File), filepath.ToSlash(dir)+"/")
		skipped = append(skipped, s)
	}
	slices.Sort(docs)
	return docs, bad, skipped
}

const rels = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`

func officeFiles(t testing.TB) map[string][]byte {
	core := `<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>A &amp; B</dc:title><dc:creator>Ada</dc:creator><dcterms:created>2024-05-01T10:00:00Z</dcterms:created></cp:coreProperties>`
	return map[string][]byte{
		"a.docx": zipped(t, "[Content_Types].xml", "<Types/>",
			"word/document.xml", `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>One</w:t></w:r><w:r><w:tab/><w:t xml:space="preserve"> two</w:t></w:r></w:p><w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>three</w:t><w:br/><w:t>four</w:t></w:r></w:p></w:body></w:document>`,
			"word/footnotes.xml", `<w:footnotes xmlns:w="w"><w:p><w:r><w:t>note</w:t></w:r></w:p></w:footnotes>`,
			"docProps/core.xml", core),
		"b.xlsx": zipped(t,
			"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Second" sheetId="2" r:id="rId2"/><sheet name="First" sheetId="1" r:id="rId1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", fmt.Sprintf(rels, `<Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/>`),
			"xl/sharedStrings.xml", `<sst><si><t>name</t></si><si><r><t>pri</t></r><r><t>ce</t></r><rPh><t>furigana</t></rPh></si></sst>`,
			"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row><row><c t="inlineStr"><is><t>tea</t></is></c><c><v>3.5</v></c><c t="s"><v>99</v></c></row></sheetData></worksheet>`,
			"xl/worksheets/sheet2.xml", `<worksheet><sheetData><row><c t="str"><f>A1</f><v>x</v></c></row></sheetData></worksheet>`),
		"c.pptx": zipped(t,
			"ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="rId9"/><p:sldId id="257" r:id="rId8"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", fmt.Sprintf(rels, `<Relationship Id="rId8" Target="slides/slide1.xml"/><Relationship Id="rId9" Target="slides/slide2.xml"/>`),
			"ppt/slides/slide1.xml", `<p:sld xmlns:a="a"><a:p><a:r><a:t>last</a:t></a:r></a:p></p:sld>`,
			"ppt/slides/slide2.xml", `<p:sld xmlns:a="a"><a:p><a:r><a:t>first</a:t></a:r></a:p></p:sld>`,
			"ppt/notesSlides/notesSlide10.xml", `<p:notes xmlns:a="a"><a:p><a:r><a:t>note ten</a:t></a:r></a:p></p:notes>`,
			"ppt/notesSlides/notesSlide2.xml", `<p:notes xmlns:a="a"><a:p><a:r><a:t>note two</a:t></a:r></a:p></p:notes>`),
		"d.odt": zipped(t, "mimetype", "application/vnd.oasis.opendocument.text",
			"content.xml", `<office:document-content xmlns:office="o" xmlns:text="t"><office:body><text:h>Head</text:h><text:p>a<text:s/>b<text:tab/><text:span>c</text:span></text:p></office:body></office:document-content>`,
			"meta.xml", `<office:document-meta xmlns:office="o" xmlns:dc="d" xmlns:meta="m"><office:meta><meta:initial-creator>Bo</meta:initial-creator><dc:title>Title</dc:title></office:meta></office:document-meta>`),
	}
}

func TestOffice(t *testing.T) {
	files := officeFiles(t)
	files["bad.docx"] = []byte("PK\x03\x04 broken")
	files["none.docx"] = zipped(t, "x", "y")
	files["text.docx"] = []byte("only the name")
	files["empty.odt"] = zipped(t, "content.xml", "<x/>")
	docs, bad, skipped := readFiles(t, Options{}, files)
	want := []string{
		"a.docx|A & B|One  two\nthree\nfour\nnote|author=Ada;created=2024-05-01T10:00:00Z;",
		"b.xlsx|b.xlsx|Second\nx\t\nFirst\nname\tprice\t\ntea\t3.5\t99|",
		"c.pptx|c.pptx|first\nlast\nnote two\nnote ten|",
		"d.odt|Title|Head\na b c|author=Bo;",
		"text.docx|text.docx|only the name|",
	}
	if !slices.Equal(docs, want) {
		t.Errorf("documents\n%q, want\n%q", docs, want)
	}
	wantBad := []string{
		"bad.docx: not a readable Office file: zip: not a valid zip file: bad input",
		"none.docx: not a readable Office file: it has no part with a text: bad input",
	}
	if !slices.Equal(bad, wantBad) {
		t.Errorf("bad records %q, want %q", bad, wantBad)
	}
	if !slices.Equal(skipped, []SkippedFile{{"empty.odt", skippedNoText}}) {
		t.Errorf("skipped %q", skipped)
	}
}

// Small files that would unpack to large texts.
func TestOfficeLimits(t *testing.T) {
	long := strings.Repeat("a", 1<<16)
	shared := `<sst><si><t>` + long + `</t></si></sst>`
	rows := strings.Repeat(`<row><c t="s"><v>0</v></c></row>`, 100)
	files := map[string][]byte{
		"bomb.docx": zipped(t, "word/document.xml", `<w:p xmlns:w="w"><w:t>`+strings.Repeat(long, 40)+`</w:t></w:p>`),
		"bomb.xlsx": zipped(t, "xl/workbook.xml", `<workbook xmlns:r="r"><sheet name="s" r:id="a"/></workbook>`,
			"xl/_rels/workbook.xml.rels", fmt.Sprintf(rels, `<Relationship Id="a" Target="s.xml"/>`),
			"xl/sharedStrings.xml", shared, "xl/s.xml", "<sheetData>"+rows+"</sheetData>"),
		"entity.docx": zipped(t, "word/document.xml", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:p xmlns:w="w"><w:t>&b;</w:t></w:p>`),
	}
	docs, bad, _ := readFiles(t, Options{MaxRecordBytes: 1 << 20}, files)
	if len(docs) != 0 || len(bad) != 3 || !strings.Contains(bad[0], errTooLarge.Error()) || !strings.Contains(bad[1], errTooLarge.Error()) || !strings.Contains(bad[2], "invalid character entity") {
		t.Errorf("documents %.100q, bad records %q", docs, bad)
	}
}

func TestNotebook(t *testing.T) {
	docs, bad, _ := readFiles(t, Options{}, map[string][]byte{
		"a.ipynb": []byte(`{"cells":[{"cell_type":"code","source":["import x\n","x.y()"],"outputs":[{"text":"no"}]},{"cell_type":"markdown","source":"# The head\ntext"},{"cell_type":"raw","source":[]}],"metadata":{"kernelspec":{"language":"python"}},"nbformat":4}`),
		"b.ipynb": []byte(`{"worksheets":[{"cells":[{"cell_type":"code","input":["1+1"]}]}],"metadata":{"language_info":{"name":"R"}},"nbformat":3}`),
		"c.ipynb": []byte(`{"cells":`),
		"d.ipynb": []byte(`{"no":1}`),
		"e.ipynb": []byte(`{"metadata":{"name":""},"nbformat":3,"worksheets":[{"cells":[{"cell_type":"markdown","source":["no head"]},{"cell_type":"heading","level":1,"source":["The old\n"," head"]},{"cell_type":"heading","level":2,"source":"next"},{"cell_type":"code","language":"python","input":["1+1"]}]}]}`),
	})
	want := []string{"a.ipynb|The head|import x\nx.y()\n\ntext|language=python;", "b.ipynb|b.ipynb|1+1|language=R;", "e.ipynb|The old head|no head\n\nnext\n\n1+1|language=python;"}
	if !slices.Equal(docs, want) || len(bad) != 2 || !strings.Contains(bad[0], "c.ipynb: not a readable notebook file: unexpected end") || !strings.Contains(bad[1], "d.ipynb: not a readable notebook file: it has no cells") {
		t.Errorf("documents %q, bad records %q", docs, bad)
	}
}

const message = "From: =?utf-8?q?Ren=C3=A9?= <r@example.com>\r\nTo: a@example.com, b@example.com\r\nSubject: =?iso-8859-1?Q?caf=E9?=\r\n and more\r\nDate: Wed, 01 May 2024 12:00:00 +0200\r\nMessage-ID: <1@x>\r\n"

func TestMail(t *testing.T) {
	attachment := base64.StdEncoding.EncodeToString([]byte("binary"))
	files := map[string][]byte{
		"a.eml": []byte(message + "\r\nplain text\r\n"),
		"b.eml": []byte("Subject: parts\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=XX\r\n\r\npreamble\r\n--XX\r\nContent-Type: multipart/alternative; boundary=YY\r\n\r\n--YY\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\ncaf=E9 =\r\nau lait\r\n--YY\r\nContent-Type: text/html\r\n\r\n<p>other</p>\r\n--YY--\r\n" +
			"--XX\r\nContent-Type: application/pdf; name=\"x.pdf\"\r\nContent-Disposition: attachment; filename=\"=?utf-8?q?r=C3=A9sum=C3=A9.pdf?=\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" + attachment + "\r\n" +
			"--XX\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninner text\r\n--XX--\r\n"),
		"c.eml": []byte("From x Wed May  1 12:00:00 2024\nSubject: html\nContent-Type: text/html; charset=windows-1252\n\n<html><style>no</style><p>caf\xe9</p>"),
		"d.eml": []byte("Subject: b64\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("grüße")) + "!!\n"),
		"e.eml": []byte("no header at all"),
		"g.eml": []byte("Subject: =?utf-8?q?caf=C3=A9?= =?klingon?q?th=C3=A9?=\n\nunknown character set\n"),
		"f.eml": []byte("Subject: cut\nContent-Type: multipart/mixed; boundary=Z\n\n--Z\n\nfirst\n"),
	}
	docs, bad, skipped := readFiles(t, Options{}, files)
	want := []string{
		"a.eml|café and more|plain text|from=René <r@example.com>;to=a@example.com, b@example.com;message_id=<1@x>;date=2024-05-01T10:00:00Z;",
		"b.eml|parts|café au lait\n\ninner\n\ninner text|",
		"c.eml|html|café|",
		"d.eml|b64|grüße|",
		"f.eml|cut|first|",
		"g.eml|caféthé|unknown character set|",
	}
	if !slices.Equal(docs, want) {
		t.Errorf("documents\n%q, want\n%q", docs, want)
	}
	if len(bad) != 1 || !strings.HasPrefix(bad[0], "e.eml: not a readable mail file: ") {
		t.Errorf("bad records %q", bad)
	}
	if want := (SkippedFile{"b.eml/résumé.pdf", "attachment of type application/pdf"}); !slices.Contains(skipped, want) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
}

func TestMbox(t *testing.T) {
	mbox := "From a Wed May  1 12:00:00 2024\n" + strings.ReplaceAll(message, "\r", "") + "\none\n>From here\n>>From there\nFrom within\n\n" +
		"From b Wed May  1 12:00:00 2024\nSubject: two\nContent-Type: image/png\n\nx\n\n" +
		"From c Wed May  1 12:00:00 2024\nbroken\n\n\n" +
		"From d Wed May  1 12:00:00 2024\nSubject: last\n\nend"
	for _, name := range []string{"m.mbox", "Inbox"} {
		for _, content := range []string{mbox, strings.ReplaceAll(mbox, "\n", "\r\n")} {
			docs, bad, skipped := readFiles(t, Options{}, map[string][]byte{name: []byte(content)})
			for i := range docs {
				docs[i] = strings.ReplaceAll(docs[i], "\r", "")
			}
			want := []string{
				name + ":1|café and more|one\nFrom here\n>From there\nFrom within|from=René <r@example.com>;to=a@example.com, b@example.com;message_id=<1@x>;date=2024-05-01T10:00:00Z;",
				name + ":14|two||",
				name + ":24|last|end|",
			}
			slices.Sort(want)
			if !slices.Equal(docs, want) {
				t.Errorf("documents\n%q, want\n%q", docs, want)
			}
			if len(bad) != 1 || !strings.HasPrefix(bad[0], name+":20: not a readable mail file: ") {
				t.Errorf("bad records %q", bad)
			}
			if !slices.Equal(skipped, []SkippedFile{{name + ":14/part", "attachment of type image/png"}}) {
				t.Errorf("skipped %q", skipped)
			}
		}
	}
}

// A program stands for pdftotext.
func TestPDF(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	pdf := []byte("%PDF-1.4\n1 0 obj << /Title (A title) >>\nfirst page\n")
	files := map[string][]byte{"a.pdf": pdf, "named otherwise": []byte("%PDF-1.7\nx")}
	docs, bad, skipped := readFiles(t, Options{}, files)
	if len(docs) != 0 || len(bad) != 0 || !slices.Equal(skipped, []SkippedFile{{"a.pdf", skippedPDF}, {"named otherwise", skippedPDF}}) {
		t.Errorf("without a program: documents %q, bad records %q, skipped %q", docs, bad, skipped)
	}
	script := func(body string) string {
		path := filepath.Join(t.TempDir(), "pdftotext")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	docs, bad, _ = readFiles(t, Options{PDFToText: script(`[ "$*" = "-q -enc UTF-8 - -" ] && sed 1,2d && printf '\f second \303\251'`)}, map[string][]byte{"a.pdf": pdf})
	if !slices.Equal(docs, []string{"a.pdf|A title|first page\n\n second é|"}) || len(bad) != 0 {
		t.Errorf("documents %q, bad records %q", docs, bad)
	}
	for body, want := range map[string]string{
		"echo encrypted >&2; exit 3": "pdftotext: exit status 3: encrypted: bad input",
		"cat /dev/zero":              errTooLarge.Error(),
	} {
		_, bad, _ = readFiles(t, Options{PDFToText: script(body), MaxRecordBytes: 1 << 16}, map[string][]byte{"a.pdf": pdf})
		if len(bad) != 1 || !strings.Contains(bad[0], want) {
			t.Errorf("%s: bad records %q, want %s", body, bad, want)
		}
	}
	if _, bad, _ = readFiles(t, Options{PDFToText: "/no such program"}, files); len(bad) != 2 {
		t.Errorf("no program: bad records %q", bad)
	}
}

func FuzzMail(f *testing.F) {
	f.Add([]byte(message + "\r\ntext"))
	f.Add([]byte("Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>\n--b\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := parseMail(content, "f")
		if err == nil && len(c.text) > 100*len(content)+1000 {
			t.Fatalf("%d bytes became %d", len(content), len(c.text))
		}
	})
}

func FuzzOffice(f *testing.F) {
	for _, content := range officeFiles(f) {
		f.Add(content)
	}
	r := &reader{opts: Options{MaxRecordBytes: 1 << 20}}
	f.Fuzz(func(t *testing.T, content []byte) {
		if c, err := convertOffice(r, input{}, content); err == nil && len(c.text) > r.opts.MaxRecordBytes {
			t.Fatalf("a text of %d bytes", len(c.text))
		}
	})
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"cells":[{"cell_type":"markdown","source":["# x\n","y"]}],"metadata":{}}`))
	f.Fuzz(func(_ *testing.T, content []byte) {
		_, _ = convertNotebook(nil, input{}, content)
	})
}
