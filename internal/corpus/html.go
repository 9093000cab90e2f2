package corpus

import (
	"bytes"
	"maps"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Elements whose content is never text.
var noText = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true,
	atom.Object: true, atom.Svg: true, atom.Canvas: true, atom.Noembed: true,
	atom.Select: true, atom.Textarea: true, atom.Button: true,
}

// maxTitleBytes bounds a title from a heading.
const maxTitleBytes = 512

// noTextOrBoilerplate adds menus, banners, imprints and replacements for frames.
var noTextOrBoilerplate = func() map[atom.Atom]bool {
	set := maps.Clone(noText)
	for _, a := range []atom.Atom{atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Menu, atom.Dialog, atom.Noframes} {
		set[a] = true
	}
	return set
}()

// code is left out even if it is not closed.
var code = map[atom.Atom]bool{atom.Script: true, atom.Style: true}

// Elements that do not end a word.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Bdi: true, atom.Bdo: true,
	atom.Big: true, atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true,
	atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Mark: true,
	atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strike: true,
	atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true,
	atom.Var: true, atom.Wbr: true,
}

// htmlText returns the title (<title>, otherwise the first <h1>) and text of a UTF-8 page
// without markup, scripts, menus, page headers and footers. White space is collapsed; each
// block is one line.
//
// It builds no tree. A page that is all menus and the like, or does not close one or an element
// such as <select>, is read again with these elements; its text would be lost otherwise.
func htmlText(src []byte) (title, text string) {
	x := htmlExtractor{leftOut: noTextOrBoilerplate}
	whole := x.run(src)
	if !whole || x.body.empty() {
		x = htmlExtractor{leftOut: noText}
		whole = x.run(src)
	}
	if !whole {
		x = htmlExtractor{leftOut: code}
		x.run(src)
	}
	title = x.title.String()
	if title == "" {
		title = x.h1.String()
	}
	return title, x.body.String()
}

// One pass over a page.
type htmlExtractor struct {
	leftOut map[atom.Atom]bool

	title, h1, body collapser
	into            *collapser // title or h1 while in it and it is the first
	skip            atom.Atom  // element that is left out, 0 if none
	depth           int        // elements of that name open
}

// run is false if a left-out element, other than code, is open at the end.
func (x *htmlExtractor) run(src []byte) bool {
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken: // the end: there are no other errors when reading memory
			return x.skip == 0 || code[x.skip]
		case html.TextToken:
			x.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag, selfClosing := atom.Lookup(name), kind == html.SelfClosingTagToken
			// As in XHTML, <script/> has no content. The tokenizer must not skip other
			// elements' content.
			if selfClosing || noTextOrBoilerplate[tag] && !x.leftOut[tag] {
				z.NextIsNotRawText()
			}
			x.start(tag, selfClosing)
		case html.EndTagToken:
			name, _ := z.TagName()
			x.end(atom.Lookup(name))
		}
	}
}

func (x *htmlExtractor) text(text []byte) {
	if x.into == &x.title {
		x.title.add(text)
		return // the title is not part of the text
	}
	if x.into == &x.h1 {
		if x.h1.add(text); x.h1.Len() > maxTitleBytes {
			x.into = nil // not closed
		}
	}
	if x.skip == 0 {
		x.body.add(text)
	}
}

func (x *htmlExtractor) start(tag atom.Atom, selfClosing bool) {
	switch {
	case x.skip != 0 && tag == x.skip && !selfClosing:
		x.depth++
	case x.skip == 0 && !selfClosing && x.leftOut[tag]:
		x.skip, x.depth = tag, 1
	}
	switch {
	case selfClosing:
	case tag == atom.Title && x.skip == 0 && x.title.empty():
		x.into = &x.title
	case tag == atom.H1 && x.h1.empty() && !noText[x.skip]:
		x.into = &x.h1
	}
	x.boundary(tag)
}

func (x *htmlExtractor) end(tag atom.Atom) {
	if x.skip != 0 && tag == x.skip {
		if x.depth--; x.depth == 0 {
			x.skip = 0
		}
	}
	if tag == atom.Title && x.into == &x.title || tag == atom.H1 && x.into == &x.h1 {
		x.into = nil
	}
	x.boundary(tag)
}

func (x *htmlExtractor) boundary(tag atom.Atom) {
	if inline[tag] {
		return
	}
	if x.into != nil {
		x.into.space()
	}
	if x.skip == 0 {
		x.body.line()
	}
}

// htmlToUTF8 goes by byte order mark, the HTTP header's content type (may be empty), <meta>,
// and bytes.
func htmlToUTF8(page []byte, contentType string) []byte {
	encoding, name, declared := charset.DetermineEncoding(page, contentType)
	if name != "utf-8" && (declared || !utf8.Valid(page)) {
		if decoded, err := encoding.NewDecoder().Bytes(page); err == nil {
			page = decoded
		}
	}
	page = bytes.TrimPrefix(page, []byte("\ufeff"))
	if utf8.Valid(page) {
		return page
	}
	return bytes.ToValidUTF8(page, []byte("\ufffd"))
}

// collapser joins text: a blank between words, a line end where line was called.
type collapser struct {
	strings.Builder
	gap byte // written before the next word: 0, ' ' or '\n'
}

func (c *collapser) empty() bool { return c.Len() == 0 }

func (c *collapser) space() {
	if c.gap == 0 && !c.empty() {
		c.gap = ' '
	}
}

func (c *collapser) line() {
	if !c.empty() {
		c.gap = '\n'
	}
}

var isSpace = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, '\f': true}

func (c *collapser) add(text []byte) {
	for len(text) > 0 {
		n := 0
		for n < len(text) && !isSpace[text[n]] {
			n++
		}
		if n == 0 {
			c.space()
			text = text[1:]
			continue
		}
		if c.gap != 0 {
			c.WriteByte(c.gap)
			c.gap = 0
		}
		c.Write(text[:n])
		text = text[n:]
	}
}
