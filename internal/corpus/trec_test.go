package corpus

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

func TestTRECText(t *testing.T) {
	const ap = `<DOC>
<DOCNO> AP880212-0001 </DOCNO>
<FILEID>AP-NR-02-12-88 2344EST</FILEID>
<HEAD>Reports Former Saigon Officials Released</HEAD>
<HEAD>from Re-education Camp</HEAD>
<DATELINE>BANGKOK, Thailand (AP) </DATELINE>
<TEXT>
   More than 150 former officers &amp; officials, 3 < 5
have been released.
<P>
   Second paragraph.
</TEXT>
</DOC>

<DOC><DOCNO>FR1</DOCNO>
<TEXT><FTAG tagnum=1>First</FTAG> text.</TEXT>
<TEXT>Another.</TEXT>
</DOC>
<DOC>
<DOCNO>ODD-3</DOCNO>
<SUMMARY>No element of known name,</SUMMARY>
<ABOUT>but text all the same.</ABOUT>
</DOC>
<DOC>
<DOCNO>BARE-4</DOCNO>
Text without an <I>element.</I>
</DOC>
`
	res := collectString(t, ap, Options{})
	checkBad(t, res.bad)
	checkDocs(
		t, res.docs,
		Document{
			ID: "AP880212-0001", Title: "Reports Former Saigon Officials Released from Re-education Camp",
			Text:  "More than 150 former officers & officials, 3 < 5\nhave been released.\n \n   Second paragraph.",
			Extra: []Field{{"fileid", "AP-NR-02-12-88 2344EST"}, {"dateline", "BANGKOK, Thailand (AP)"}},
		},
		Document{ID: "FR1", Text: "First  text.\nAnother."},
		Document{
			ID: "ODD-3", Text: "No element of known name,\nbut text all the same.",
			Extra: []Field{{"summary", "No element of known name,"}, {"about", "but text all the same."}},
		},
		Document{ID: "BARE-4", Text: "Text without an", Extra: []Field{{"i", "element."}}},
	)
	for i, line := range []int64{1, 15, 19, 24} {
		if got := res.docs[i].Source; got.Line != line {
			t.Errorf("document %d is from %v, want line %d", i, got, line)
		}
	}
	// Lower case, Latin-1, tags around all documents.
	res = collectString(t, "<doc>\n<DOCNO>1</DOCNO><TEXT>caf\xe9</TEXT></doc>\n</collection>\n", Options{DropExtra: true})
	checkBad(t, res.bad)
	checkDocs(t, res.docs, Document{ID: "1", Text: "café"})
}

func TestTRECErrors(t *testing.T) {
	const good = "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>x</TEXT>\n</DOC>\n"
	for _, c := range []struct{ name, text, want string }{
		{"no id", "<DOC>\n<TEXT>x</TEXT>\n</DOC>\n", `-:5: field "DOCNO": missing`},
		{"stray text", "\nstray\n", "-:6: text outside of <DOC>"},
		{"no end", "<DOC>\n<DOCNO>2</DOCNO>\n<TEXT>lost\n", "-:5: <DOC> without </DOC>"},
		{"binary", "<DOC><DOCNO>2</DOCNO>\xff\x00</DOC>", "-:5: neither UTF-8 nor Windows-1252"},
		{"too long", "<DOC><DOCNO>2</DOCNO>" + strings.Repeat("x", 200) + "</DOC>", "-:5: the record is longer than the limit of 150 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := collectString(t, good+c.text+good, Options{MaxRecordBytes: 150})
			checkBad(t, res.bad, c.want)
			if len(res.docs) != 2 {
				t.Errorf("%s: %d documents, want the 2 around the bad one", c.name, len(res.docs))
			}
		})
	}
	res := collectString(t, good+"<DOC>\n<DOCNO>2</DOCNO>", Options{})
	checkBad(t, res.bad, "-:5: <DOC> without </DOC>")
}

// One exceeds the limit, with its end at the end of a buffer.
func TestLongTRECDocuments(t *testing.T) {
	const limit = 2 * batchBytes
	for shift := range 8 {
		var b strings.Builder
		for i, size := range []int{10, 3 * batchBytes / 2, 10, 2*limit - shift, 10} {
			fmt.Fprintf(&b, "<DOC>\n<DOCNO>%d</DOCNO>\n%s\n</DOC>\n", i, strings.Repeat("x", size))
		}
		res := collectString(t, b.String(), Options{MaxRecordBytes: limit})
		checkBad(t, res.bad, "-:13: the record is longer")
		if len(res.docs) != 4 || res.docs[3].ID != "4" || res.docs[3].Source.Line != 17 {
			t.Errorf("shift %d: %d documents, the last from %v", shift, len(res.docs), res.docs[len(res.docs)-1].Source)
		}
	}
}

// TestTRECTextIsLinear: searches in a document whose tags are not closed look at each byte a
// limited number of times.
func TestTRECTextIsLinear(t *testing.T) {
	for _, end := range []string{"", "</P>", "</P></a0>"} {
		var b strings.Builder
		b.WriteString("<DOCNO>1</DOCNO>")
		for i := range 20_000 {
			fmt.Fprintf(&b, "<P><a%d>", i)
		}
		b.WriteString(end)
		e := newElements(b.String())
		for e.rest != "" {
			e.next()
		}
		if most := 4 * b.Len(); e.searched < b.Len() || e.searched > most {
			t.Errorf("end %q: searches looked at %d bytes of a document of %d, want at most %d", end, e.searched, b.Len(), most)
		}
		res := collectString(t, "<DOC>"+b.String()+"</DOC>", Options{})
		if checkBad(t, res.bad); len(res.docs) != 1 || res.docs[0].ID != "1" || res.docs[0].Text != "" {
			t.Errorf("end %q: %d documents", end, len(res.docs))
		}
	}
}

func TestTRECWeb(t *testing.T) {
	const gov2 = `<DOC>
<DOCNO>GX000-00-0000000</DOCNO>
<DOCHDR>
http://sgra.jpl.nasa.gov/
HTTP/1.1 200 OK
Content-Type: text/html; charset=iso-8859-1
</DOCHDR>
<html><head><title>JPL &eacute;t` + "\xe9" + `</title></head><body><nav>menu</nav><p>Hello<p>World</body></html>
</DOC>
<DOC>
<DOCNO>WTX001-B01-1</DOCNO>
<DOCOLDNO>IA001-000000-B001-1</DOCOLDNO>
<DOCHDR>
http://www.a.com:80/x.html 205.216.146.35 19970101025228 text/html 6071
HTTP/1.0 200 Document follows
</DOCHDR>
plain &amp; simple
</DOC>
`
	res := collectString(t, gov2, Options{})
	checkBad(t, res.bad)
	checkDocs(
		t, res.docs,
		Document{ID: "GX000-00-0000000", Title: "JPL été", Text: "Hello\nWorld", Extra: []Field{{"url", "http://sgra.jpl.nasa.gov/"}}},
		Document{ID: "WTX001-B01-1", Text: "plain & simple", Extra: []Field{{"url", "http://www.a.com:80/x.html"}}},
	)
	res = collectString(t, "<DOC><DOCNO>1</DOCNO>x</DOC>\n<DOC><DOCHDR>u</DOCHDR>x</DOC>", Options{Format: "trecweb"})
	checkBad(t, res.bad, `-:1: field "DOCHDR": missing`, `-:2: field "DOCNO": missing`)
}

// A document without an end must not search for it to the end of the file; bytes searched are
// counted.
func TestTRECNotEndedIsLinear(t *testing.T) {
	const numDocs = 20_000
	for _, end := range []string{"", "</DOC>"} {
		t.Run("end "+end, func(t *testing.T) {
			searched, records := int64(0), 0
			syntax := newTRECSyntax(&stream{Reader: bufio.NewReader(strings.NewReader(""))}, 1<<30, parseTRECText(&Options{}))
			syntax.searched = &searched
			input := strings.Repeat("<DOC><DOCNO>1</DOCNO>\n", numDocs) + end
			err := syntax.parse(
				chunk{file: "-", line: 1, data: []byte(input)},
				func(*Document) error { records++; return nil },
				func(*RecordError) error { records++; return nil },
			)
			if err != nil || records != numDocs {
				t.Fatalf("%d documents and errors of %d: %v", records, numDocs, err)
			}
			if most := int64(8 * len(input)); searched > most {
				t.Errorf("searches looked at %d bytes of an input of %d, want at most %d", searched, len(input), most)
			}
		})
	}
}

func FuzzTRECText(f *testing.F) {
	f.Add("<DOC>\n<DOCNO>1</DOCNO><HL>a</HL>\n<TEXT>x <P> y &lt; z</TEXT>\n</DOC>\n<DOC>")
	f.Add("<doc><DOCNO>1</DOCNO><a b=c>\xff</a></doc>x<DOC><DOCNO>2</DOCNO>")
	f.Fuzz(func(t *testing.T, s string) { fuzzFormat(t, "trectext", s) })
}

func FuzzTRECWeb(f *testing.F) {
	f.Add("<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>\nhttp://a/ x\nA: b\n c\n</DOCHDR>\n<html><title>t</title><p>x</DOC>")
	f.Fuzz(func(t *testing.T, s string) { fuzzFormat(t, "trecweb", s) })
}
