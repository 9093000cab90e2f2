package trec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Topic is an information need; TSV and JSON lines have only a title.
type Topic struct {
	ID          string
	Title       string // the query as a user would type it
	Description string // one sentence
	Narrative   string // criteria for relevant documents
}

// TopicPart selects the part used as the query.
type TopicPart uint8

// T, D and TD of the TREC reports.
const (
	PartTitle            TopicPart = iota // title
	PartDescription                       // desc
	PartTitleDescription                  // title+desc
)

var partNames = [...]string{PartTitle: "title", PartDescription: "desc", PartTitleDescription: "title+desc"}

// ParseTopicPart parses title, desc or title+desc.
func ParseTopicPart(name string) (TopicPart, error) {
	for part, n := range partNames {
		if n == name {
			return TopicPart(part), nil
		}
	}
	return 0, fmt.Errorf("topic part %q: want %s: %w", name, strings.Join(partNames[:], ", "), base.ErrBadInput)
}

// String is ParseTopicPart's name.
func (p TopicPart) String() string { return partNames[p] }

// Text returns the part, empty if the topic lacks it.
func (t Topic) Text(part TopicPart) string {
	switch part {
	case PartDescription:
		return t.Description
	case PartTitleDescription:
		return strings.TrimSpace(t.Title + " " + t.Description)
	default:
		return t.Title
	}
}

// maxTopicsBytes bounds a tagged file, read as a whole.
const maxTopicsBytes = 64 << 20

// ReadTopics reads topics in the input's order. The first character other than white space
// determines the format:
//
//   - '<': tagged, classic (<top>, <num>, <title>, <desc>, <narr>, the last four usually
//     unclosed) or as in the web tracks (<topic number="1">, <query>, <description>,
//     <narrative>);
//   - '{': JSON lines as in BEIR, {"_id": "1", "text": "…"};
//   - otherwise TSV, id <TAB> text; further tabs belong to the text.
//
// White space becomes single spaces. A malformed topic, a duplicate id or an input without
// topics is a *SyntaxError.
func ReadTopics(r io.Reader) ([]Topic, error) {
	lines := newLineReader(r)
	c := topicCollector{seen: make(map[string]int)}
	for {
		line, ok := lines.next()
		if !ok {
			break
		}
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 {
			continue
		}
		if len(c.topics) == 0 && trimmed[0] == '<' {
			text, err := remaining(lines)
			if err != nil {
				return nil, err
			}
			if err := readTaggedTopics(text, &c); err != nil {
				return nil, err
			}
			break
		}
		parse := parseTSVTopic
		if trimmed[0] == '{' {
			parse = parseJSONTopic
		}
		topic, err := parse(line, lines.line)
		if err != nil {
			return nil, err
		}
		if err := c.add(topic, lines.line); err != nil {
			return nil, err
		}
	}
	if err := lines.err(); err != nil {
		return nil, err
	}
	if len(c.topics) == 0 {
		return nil, syntaxErrorf(max(lines.line, 1), "no topics")
	}
	return c.topics, nil
}

// An empty line stands for each earlier line, so that line numbers stay valid.
func remaining(lines *lineReader) (string, error) {
	var text strings.Builder
	text.WriteString(strings.Repeat("\n", lines.line-1))
	line := lines.scanner.Bytes()
	if lines.line == 1 {
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	}
	for ok := true; ok; line, ok = lines.next() {
		if text.Len()+len(line) >= maxTopicsBytes {
			return "", syntaxErrorf(lines.line, "topics are longer than %d bytes", maxTopicsBytes)
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	return text.String(), lines.err()
}

type topicCollector struct {
	topics []Topic
	seen   map[string]int // id → line
}

func (c *topicCollector) add(t Topic, line int) error {
	if !isField(t.ID) {
		return syntaxErrorf(line, "topic id %q is empty or holds white space", t.ID)
	}
	if earlier, dup := c.seen[t.ID]; dup {
		return syntaxErrorf(line, "topic %q is already on line %d", t.ID, earlier)
	}
	c.seen[t.ID] = line
	c.topics = append(c.topics, t)
	return nil
}

func parseTSVTopic(line []byte, number int) (Topic, error) {
	id, text, ok := bytes.Cut(line, []byte{'\t'})
	if !ok {
		return Topic{}, syntaxErrorf(number, "no tab: want id<TAB>text")
	}
	return Topic{ID: string(bytes.TrimSpace(id)), Title: oneLine(string(text))}, nil
}

func parseJSONTopic(line []byte, number int) (Topic, error) {
	var record struct {
		ID   *string `json:"_id"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(line, &record); err != nil {
		return Topic{}, syntaxErrorf(number, "%v", err)
	}
	if record.ID == nil || record.Text == nil {
		return Topic{}, syntaxErrorf(number, "want the string members _id and text")
	}
	return Topic{ID: *record.ID, Title: oneLine(*record.Text)}, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
