package corpus

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// convertOffice reads the text of Office Open XML (docx, xlsx, pptx) and OpenDocument (odt, ods, odp): ZIP
// archives of XML. Options.MaxRecordBytes bounds the unpacked bytes in all, and entities of XML do not
// exist here, so that a small file cannot become a large one.
func convertOffice(r *reader, _ input, content []byte) (converted, error) {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return converted{}, damaged("Office", err)
	}
	o := officeFile{parts: map[string]*zip.File{}, left: int64(r.opts.MaxRecordBytes), limit: r.opts.MaxRecordBytes}
	for _, f := range z.File {
		if o.parts[f.Name] == nil {
			o.parts[f.Name] = f
		}
	}
	switch {
	case o.parts["word/document.xml"] != nil:
		err = o.word()
	case o.parts["xl/workbook.xml"] != nil:
		err = o.sheets()
	case o.parts["ppt/presentation.xml"] != nil:
		err = o.slides()
	case o.parts["content.xml"] != nil:
		err = o.openDocument()
	default:
		err = errors.New("it has no part with a text")
	}
	c := converted{}
	if err == nil {
		err = o.properties(&c)
	}
	if err != nil {
		return converted{}, damaged("Office", err)
	}
	c.text = o.text.String()
	return c, nil
}

type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that can be unpacked
	limit int   // bytes of text
	text  strings.Builder
}

// each calls f for the tokens of a part. A part that does not exist has none.
func (o *officeFile) each(name string, f func(token xml.Token) error) error {
	part := o.parts[name]
	if part == nil {
		return nil
	}
	in, err := part.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: o.left + 1}
	d := xml.NewDecoder(limited)
	for {
		token, err := d.RawToken()
		if limited.N <= 0 {
			return errTooLarge
		}
		if errors.Is(err, io.EOF) {
			o.left = limited.N - 1
			return nil
		}
		if err == nil {
			err = f(token)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// write appends to the text. Shared strings can make the text longer than the unpacked input.
func (o *officeFile) write(s string) error {
	if o.text.Len()+len(s) > o.limit {
		return errTooLarge
	}
	o.text.WriteString(s)
	return nil
}

// officeElements are local names.
type officeElements struct {
	text         []string // their characters are text
	lines, blank []string // end a line, or a word
}

// append appends the text of parts.
func (o *officeFile) append(e officeElements, names ...string) error {
	for _, name := range names {
		depth := 0 // within elements of text
		err := o.each(name, func(token xml.Token) error {
			switch t := token.(type) {
			case xml.StartElement:
				if slices.Contains(e.text, t.Name.Local) {
					depth++
				}
				if slices.Contains(e.blank, t.Name.Local) {
					return o.write(" ")
				}
			case xml.EndElement:
				if slices.Contains(e.text, t.Name.Local) {
					depth = max(depth-1, 0)
				}
				if slices.Contains(e.lines, t.Name.Local) {
					return o.write("\n")
				}
			case xml.CharData:
				if depth > 0 {
					return o.write(string(t))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *officeFile) word() error {
	e := officeElements{text: []string{"t"}, lines: []string{"p", "br", "cr"}, blank: []string{"tab"}}
	return o.append(e, "word/document.xml", "word/footnotes.xml", "word/endnotes.xml", "word/comments.xml")
}

func (o *officeFile) slides() error {
	e := officeElements{text: []string{"t"}, lines: []string{"p", "br"}, blank: []string{"tab"}}
	slides, err := o.related("ppt/presentation.xml", "sldId")
	if err != nil {
		return err
	}
	for _, s := range slides {
		if err := o.append(e, s.part); err != nil {
			return err
		}
	}
	return o.append(e, o.numbered("ppt/notesSlides/notesSlide")...)
}

func (o *officeFile) openDocument() error {
	e := officeElements{text: []string{"p", "h"}, lines: []string{"p", "h", "line-break"}, blank: []string{"tab", "s"}}
	return o.append(e, "content.xml")
}

// numbered returns the parts named prefix, number, ".xml", by number.
func (o *officeFile) numbered(prefix string) []string {
	numbers := map[string]int{}
	for name := range o.parts {
		number, ok := strings.CutPrefix(strings.TrimSuffix(name, ".xml"), prefix)
		if n, err := strconv.Atoi(number); ok && err == nil {
			numbers[name] = n
		}
	}
	return slices.SortedFunc(maps.Keys(numbers), func(a, b string) int { return cmp.Or(cmp.Compare(numbers[a], numbers[b]), cmp.Compare(a, b)) })
}

// relatedPart is a part that another one lists.
type relatedPart struct{ name, part string }

// related returns the parts that elements of a part name by their relation, in order.
func (o *officeFile) related(name, element string) ([]relatedPart, error) {
	dir, base := path.Split(name)
	targets := map[string]string{}
	err := o.each(dir+"_rels/"+base+".rels", func(token xml.Token) error {
		if t, ok := token.(xml.StartElement); ok && t.Name.Local == "Relationship" {
			target := attribute(t, "", "Target")
			if !path.IsAbs(target) {
				target = dir + target
			}
			targets[attribute(t, "", "Id")] = strings.TrimPrefix(path.Clean(target), "/")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var parts []relatedPart
	err = o.each(name, func(token xml.Token) error {
		if t, ok := token.(xml.StartElement); ok && t.Name.Local == element {
			if part := targets[attribute(t, "r", "id")]; o.parts[part] != nil {
				parts = append(parts, relatedPart{attribute(t, "", "name"), part})
			}
		}
		return nil
	})
	return parts, err
}

func attribute(e xml.StartElement, space, local string) string {
	for _, a := range e.Attr {
		if a.Name.Space == space && a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// sheets has a line for each row, with tabs between cells. Dates are numbers there.
func (o *officeFile) sheets() error {
	shared, err := o.sharedStrings()
	if err != nil {
		return err
	}
	sheets, err := o.related("xl/workbook.xml", "sheet")
	if err != nil {
		return err
	}
	for _, s := range sheets {
		if err := o.write(s.name + "\n"); err != nil {
			return err
		}
		if err := o.sheet(s.part, shared); err != nil {
			return err
		}
	}
	return nil
}

func (o *officeFile) sheet(part string, shared []string) error {
	kind, value, inValue := "", "", false
	return o.each(part, func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "c":
				kind, value = attribute(t, "", "t"), ""
			case "v", "t":
				inValue = true
			}
		case xml.CharData:
			if inValue {
				value += string(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "v", "t":
				inValue = false
			case "c":
				if n, err := strconv.Atoi(value); kind == "s" && err == nil && 0 <= n && n < len(shared) {
					value = shared[n]
				}
				if value != "" {
					return o.write(value + "\t")
				}
			case "row":
				return o.write("\n")
			}
		}
		return nil
	})
}

// sharedStrings are the texts that cells name by number.
func (o *officeFile) sharedStrings() ([]string, error) {
	var all []string
	var text strings.Builder
	inText, phonetic := false, false
	err := o.each("xl/sharedStrings.xml", func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t":
				inText = !phonetic
			case "rPh":
				phonetic = true
			}
		case xml.CharData:
			if inText {
				text.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "rPh":
				phonetic = false
			case "si":
				all = append(all, text.String())
				text.Reset()
			}
		}
		return nil
	})
	return all, err
}

// properties reads title, author and time of creation.
func (o *officeFile) properties(c *converted) error {
	fields := map[string]string{"creator": "author", "initial-creator": "author", "created": "created", "creation-date": "created"}
	for _, name := range []string{"docProps/core.xml", "meta.xml"} {
		local := ""
		err := o.each(name, func(token xml.Token) error {
			switch t := token.(type) {
			case xml.StartElement:
				local = t.Name.Local
			case xml.EndElement:
				local = ""
			case xml.CharData:
				text := strings.TrimSpace(string(t))
				if field := fields[local]; field != "" && text != "" && !slices.ContainsFunc(c.extra, func(f Field) bool { return f.Name == field }) {
					c.extra = append(c.extra, Field{field, text})
				}
				if local == "title" {
					c.title += string(t)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
