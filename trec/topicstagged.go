package trec

import (
	"html"
	"strings"
)

type topicTag uint8

const (
	tagOther topicTag = iota // an irrelevant tag: it ends the previous field
	tagTopic                 // begins or ends a topic
	tagNumber
	tagTitle
	tagDescription
	tagNarrative
)

// Classic tracks use <top>, <num>, <title>, <desc>, <narr>; web and later tracks <topic>,
// <query>, <description>, <question>, <narrative>.
var topicTags = map[string]topicTag{
	"top": tagTopic, "topic": tagTopic,
	"num": tagNumber, "number": tagNumber,
	"title": tagTitle, "query": tagTitle,
	"desc": tagDescription, "description": tagDescription, "question": tagDescription,
	"narr": tagNarrative, "narrative": tagNarrative,
}

// Classic topics repeat these after a tag: "<num> Number: 301", "<title> Topic: …", "<desc>
// Description:".
var topicLabels = map[topicTag]string{
	tagNumber: "Number:", tagTitle: "Topic:", tagDescription: "Description:", tagNarrative: "Narrative:",
}

// text[start:end], including brackets.
type tag struct {
	start, end int
	closing    bool
	kind       topicTag
	name       string
	attributes string
}

// A field is the text between its tag and the next, so fields may be unclosed.
type taggedParser struct {
	text      string
	collector *topicCollector

	lineAt, line int // line is the line number of text[lineAt]

	open    bool // inside a topic
	topic   Topic
	since   int      // first line of the open topic
	field   topicTag // the current field; tagTopic: text directly in the topic
	fieldAt int      // start of its text
	entity  bool     // the topic is XML-like: entities are decoded
}

func readTaggedTopics(text string, c *topicCollector) error {
	p := &taggedParser{text: text, collector: c, line: 1}
	for at := 0; ; {
		t, ok := p.nextTag(at)
		if !ok {
			break
		}
		at = t.end
		if err := p.handle(t); err != nil {
			return err
		}
	}
	if p.open {
		return syntaxErrorf(p.since, "the topic that begins here is not closed")
	}
	return nil
}

// A '<' that begins no tag, or an unknown tag in the middle of a line ("a <b> c"), is text.
func (p *taggedParser) nextTag(at int) (tag, bool) {
	for {
		i := strings.IndexByte(p.text[at:], '<')
		if i < 0 {
			return tag{}, false
		}
		start := at + i
		at = start + 1
		length := strings.IndexAny(p.text[at:], "<>")
		if length < 0 || p.text[at+length] == '<' {
			continue
		}
		body := p.text[at : at+length]
		t := tag{start: start, end: at + length + 1}
		t.name, t.closing = strings.CutPrefix(body, "/")
		if i := strings.IndexAny(t.name, " \t\r\n"); i >= 0 {
			t.name, t.attributes = t.name[:i], t.name[i:]
		}
		t.name = strings.ToLower(t.name)
		kind, known := topicTags[t.name]
		if t.kind = kind; known || p.beginsLine(start) {
			return t, true
		}
	}
}

func (p *taggedParser) beginsLine(at int) bool {
	for at--; at >= 0 && p.text[at] != '\n'; at-- {
		if !isSpace(p.text[at]) {
			return false
		}
	}
	return true
}

// Offsets must not decrease between calls.
func (p *taggedParser) lineOf(at int) int {
	p.line += strings.Count(p.text[p.lineAt:at], "\n")
	p.lineAt = at
	return p.line
}

func (p *taggedParser) handle(t tag) error {
	line := p.lineOf(t.start)
	if p.open {
		if err := p.endField(t.start, line); err != nil {
			return err
		}
	}
	switch {
	case t.kind == tagTopic && !t.closing:
		return p.begin(t, line)
	case t.kind == tagTopic:
		return p.finish(line)
	case t.kind == tagOther || t.closing:
		p.field = tagOther
	case !p.open:
		return syntaxErrorf(line, "<%s> outside a topic", t.name)
	default:
		p.field, p.fieldAt = t.kind, t.end
	}
	return nil
}

func (p *taggedParser) begin(t tag, line int) error {
	if p.open {
		return syntaxErrorf(line, "<%s> inside the topic that begins on line %d", t.name, p.since)
	}
	p.open, p.since, p.topic = true, line, Topic{}
	p.entity = t.name == "topic"
	p.field, p.fieldAt = tagTopic, t.end
	if number, ok := attribute(t.attributes, "number"); ok {
		p.topic.ID = number
	}
	return nil
}

// endField assigns the text since the field's tag. Text directly in a topic is the title if
// there is no other.
func (p *taggedParser) endField(end, line int) error {
	var to *string
	switch p.field {
	case tagNumber:
		to = &p.topic.ID
	case tagTitle, tagTopic:
		to = &p.topic.Title
	case tagDescription:
		to = &p.topic.Description
	case tagNarrative:
		to = &p.topic.Narrative
	default:
		return nil
	}
	text := p.text[p.fieldAt:end]
	if p.entity {
		text = html.UnescapeString(text)
	}
	text = strings.TrimSpace(strings.TrimPrefix(oneLine(text), topicLabels[p.field]))
	field := p.field
	p.field = tagOther
	if field == tagTopic && text == "" {
		return nil
	}
	if *to != "" {
		return syntaxErrorf(line, "a part stands twice in the topic that begins on line %d", p.since)
	}
	*to = text
	return nil
}

func (p *taggedParser) finish(line int) error {
	if !p.open {
		return syntaxErrorf(line, "a topic ends that did not begin")
	}
	p.open = false
	if p.topic.ID == "" {
		return syntaxErrorf(p.since, "the topic that begins here has no number")
	}
	return p.collector.add(p.topic, p.since)
}

func attribute(attributes, name string) (string, bool) {
	for rest := attributes; ; {
		key, after, ok := strings.Cut(rest, "=")
		if !ok {
			return "", false
		}
		after = strings.TrimLeft(after, " \t\r\n")
		if after == "" || after[0] != '"' && after[0] != '\'' {
			return "", false
		}
		value, next, ok := strings.Cut(after[1:], after[:1])
		if !ok {
			return "", false
		}
		if strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.TrimSpace(html.UnescapeString(value)), true
		}
		rest = next
	}
}
