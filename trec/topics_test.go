package trec

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/griffin-search/griffin/internal/base"
)

// Ad hoc, robust and terabyte tracks.
const classicTopics = `

<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in international
criminal activity.

<narr> Narrative:
A relevant document must as a minimum identify the
organization, with losses < 5 or > 6.

</top>
<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Airbus Subsidies
<desc> Description: Document will discuss a <b>subsidy</b>.
<con> Concept(s):
1. Airbus
</top>
<top lang='en'>
<num>176</num>
<title>AT&amp;T</title>
<desc></desc>
</top>
`

const webTopics = `<?xml version="1.0" encoding="UTF-8"?>
<webtrack2009>
  <!-- one topic of the web track -->
  <topic number="1" type="faceted">
    <query>obama family tree</query>
    <description>
      Find information on President Barack Obama&#39;s family
      history.
    </description>
    <subtopic number="1" type="nav">
      Find the TIME magazine photo essay.
    </subtopic>
    <subtopic number="2" type="inf">Where did they come from?</subtopic>
  </topic>
  <topic type="x" number='2'>
    <query>R&amp;D &lt;costs&gt;</query>
    <question>What does it cost?</question>
    <narrative>Any year.</narrative>
  </topic>
  <TOPIC><NUMBER>3</NUMBER><TITLE>one line</TITLE></TOPIC>
  <topic number="4">
    only text
  </topic>
</webtrack2009>
`

func TestReadTopics(t *testing.T) {
	tests := []struct {
		name, input string
		want        []Topic
	}{
		{"classic", classicTopics, []Topic{
			{
				ID: "301", Title: "International Organized Crime",
				Description: "Identify organizations that participate in international criminal activity.",
				Narrative:   "A relevant document must as a minimum identify the organization, with losses < 5 or > 6.",
			},
			{ID: "051", Title: "Airbus Subsidies", Description: "Document will discuss a <b>subsidy</b>."},
			{ID: "176", Title: "AT&amp;T"}, // entities are text in classic topics
		}},
		{"web", webTopics, []Topic{
			{ID: "1", Title: "obama family tree", Description: "Find information on President Barack Obama's family history."},
			{ID: "2", Title: "R&D <costs>", Description: "What does it cost?", Narrative: "Any year."},
			{ID: "3", Title: "one line"},
			{ID: "4", Title: "only text"},
		}},
		{"tsv", "\n1\tblack  bear attacks\r\n MB02 \t\xc3\xa9cole\tof life\n3\t\n", []Topic{
			{ID: "1", Title: "black bear attacks"},
			{ID: "MB02", Title: "école of life"},
			{ID: "3"},
		}},
		{"tsv with a byte order mark", "\ufeff1\ta", []Topic{{ID: "1", Title: "a"}}},
		{"tags with a byte order mark", "\ufeff<top><num>1<title>a</top>", []Topic{{ID: "1", Title: "a"}}},
		{"json lines", `{"_id": "PLAIN-2", "text": "Do Cholesterol\tDrugs?", "metadata": {}}` + "\n\n" + `{"text":"b","_id":"3"}`, []Topic{
			{ID: "PLAIN-2", Title: "Do Cholesterol Drugs?"},
			{ID: "3", Title: "b"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadTopics(strings.NewReader(tt.input))
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				return
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
			}
		})
	}
}

func TestReadTopicsErrors(t *testing.T) {
	tests := []struct {
		name, input string
		line        int
		message     string
	}{
		{"empty", "", 1, "no topics"},
		{"blank lines", "\n\n\n", 3, "no topics"},
		{"no tab", "1\ta\n\n2 b\n", 3, "no tab"},
		{"no id", "1\ta\n\tb\n", 2, "empty"},
		{"id of two words", "1 2\ta\n", 1, "white space"},
		{"id twice", "1\ta\n2\tb\n1\tc\n", 3, `"1" is already on line 1`},
		{"tags without topics", "<html>\n<body>\n", 2, "no topics"},
		{"topic not closed", "\n<top>\n<num> 1\n<title> a\n", 2, "not closed"},
		{"topic in topic", "<top>\n<num> 1\n<top>\n", 3, "inside the topic that begins on line 1"},
		{"end without begin", "<num>", 1, "outside a topic"},
		{"topic ends twice", "<top>\n<num>1\n</top>\n</top>\n", 4, "did not begin"},
		{"no number", "\n<top>\n<title> a\n</top>\n", 2, "no number"},
		{"title twice", "<top>\n<num>1\n<title> a\n<title> b\n</top>\n", 5, "a part stands twice"},
		{"number twice", "<topic number='1'>\n<num>2</num>\n</topic>\n", 2, "a part stands twice"},
		{"tagged id twice", "<top><num>1</top>\n\n<top>\n<num>1</top>\n", 3, `"1" is already on line 1`},
		{"json cut", `{"_id": "1", "text": "a"}` + "\n{\n", 2, "JSON"},
		{"json without text", `{"_id": "1"}`, 1, "_id and text"},
		{"json with a number", `{"_id": 1, "text": "a"}`, 1, "string"},
		{"long line", "1\ta\n2\t" + strings.Repeat("x", maxLineBytes), 2, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadTopics(strings.NewReader(tt.input))
			checkSyntaxError(t, tt.name, err, tt.line, tt.message)
		})
	}
}

func TestReadTopicsLimit(t *testing.T) {
	const head, tail = "<top>\n<num> 1\n<title> a\n", "</top>\n"
	blank := strings.Repeat(" ", 1<<16-1) + "\n"
	text := head + strings.Repeat(blank, (maxTopicsBytes-len(head)-len(tail))/len(blank))
	text += strings.Repeat(" ", maxTopicsBytes-len(text)-len(tail)-1) + "\n"
	t.Run("the longest", func(t *testing.T) {
		topics, err := ReadTopics(strings.NewReader(text + tail))
		if err != nil || len(topics) != 1 || topics[0].Title != "a" {
			t.Errorf("%d topics, %v", len(topics), err)
		}
	})
	t.Run("one byte more", func(t *testing.T) {
		_, err := ReadTopics(strings.NewReader(text + " " + tail))
		checkSyntaxError(t, "one byte more", err, strings.Count(text, "\n")+1, "longer than")
	})
}

func checkSyntaxError(t *testing.T, name string, err error, line int, message string) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || !errors.Is(err, base.ErrBadInput) {
		t.Errorf("%s: error %v, want a SyntaxError", name, err)
		return
	}
	if syntax.Line != line || !strings.Contains(syntax.Msg, message) {
		t.Errorf("%s: %v, want line %d and %q", name, err, line, message)
	}
}

func TestReadErrors(t *testing.T) {
	for _, prefix := range []string{"", "1\ta\n", "<top>\n"} {
		failing := io.MultiReader(strings.NewReader(prefix), iotest.ErrReader(errFull))
		if _, err := ReadTopics(failing); !errors.Is(err, errFull) {
			t.Errorf("topics after %q: %v", prefix, err)
		}
	}
	if _, err := ReadQrels(iotest.ErrReader(errFull)); !errors.Is(err, errFull) {
		t.Errorf("qrels: %v", err)
	}
	if _, err := ReadRun(iotest.ErrReader(errFull)); !errors.Is(err, errFull) {
		t.Errorf("run: %v", err)
	}
}

func TestTopicText(t *testing.T) {
	topic := Topic{ID: "1", Title: "a", Description: "b c"}
	for part, want := range map[string]string{"title": "a", "desc": "b c", "title+desc": "a b c"} {
		t.Run(part, func(t *testing.T) {
			p, err := ParseTopicPart(part)
			if err != nil || topic.Text(p) != want || p.String() != part {
				t.Errorf("part %q (%v): %q, %v; want %q", part, p, topic.Text(p), err, want)
			}
		})
	}
	if got := (Topic{Description: "b"}).Text(PartTitleDescription); got != "b" {
		t.Errorf("without a title: %q", got)
	}
	if _, err := ParseTopicPart("narr"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("part narr: %v", err)
	}
}
