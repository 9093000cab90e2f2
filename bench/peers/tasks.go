package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// task is a query of luceneutil's nightly benchmark, for passages.
type task struct {
	category string
	text     string // the line

	// One of:
	words    []string // any, with all: all
	phrase   []string
	prefix   string
	wildcard string
	fuzzy    string
	numbers  *numberRange
	every    bool // all documents

	all    bool
	edits  int
	filter bool         // documents with taskFilter only, 5 %
	within *numberRange // documents with such a number only
	sort   string       // a field; "": by score
	desc   bool
	facet  string // a field
	count  bool   // the number of documents only
}

type numberRange struct {
	field  string
	lo, hi int64
}

// The fields of a passage beside its text (fieldsOf). Each has values that its number determines.
const (
	fieldLastMod = "lastmod" // milliseconds, most near the end
	fieldDay     = "day"     // 1 to 366
	fieldSeconds = "seconds" // 0 to 86399
	fieldTitle   = "title"
	fieldMonth   = "month"
	fieldDate    = "date"     // a day, as text
	fieldDayText = "day_text" // of three digits
	fieldLabel   = "label"    // one of 1,000
	fieldPart    = "part"
	// taskFilter is the value of fieldPart that 5 % of the passages have.
	taskFilter = "yes"
)

// The fields of the tasks.
var (
	numberFields = map[string]string{
		"timesecnum": fieldSeconds, "lastMod_skipper": fieldLastMod, "dayOfYear_skipper": fieldDay,
	}
	sortFields = map[string]string{
		"lastmodndvsort": fieldLastMod, "titledvsort": fieldTitle, "monthdvsort": fieldMonth, "dayofyeardvsort": fieldDay,
	}
	facetFields = map[string]string{
		"Date": fieldDate, "Month": fieldMonth, "DayOfYear": fieldDayText, "RandomLabel": fieldLabel,
	}
)

// taskCategories have filters, sorts, facets, prefixes and fuzzy terms. Left out are those with another
// storage of the same field (Skipper, SSDV), with features that bleve lacks, and of vectors.
var (
	taskCategories = regexp.MustCompile(`^(Prefix3|Wildcard|Fuzzy[12]|IntNRQ|DVRange.*|TermWithDVRange.*|(Count)?Filtered.*|Term.*Sort|.*TaxoFacets|TermDateFacets)$`)
	taskSkipped    = regexp.MustCompile(`Dismax|Vector|Skipper`)
	taskLine       = regexp.MustCompile(`^(\w+): (.*?)\s*(?:#.*)?$`)
	taskParameter  = regexp.MustCompile(`\+(filter|dvRangeFilter|facets)[=:](\S+)`)
	taskSort       = regexp.MustCompile(`^(\w+)//(\S+)$`)
	taskRange      = regexp.MustCompile(`^(?:nrq|dvrange)//(\w+) (-?\d+) (-?\d+)$`)
	taskFuzzy      = regexp.MustCompile(`^(\w+)~([12])$`)
)

// readTasks also returns the categories that are left out.
func readTasks(path string) (tasks []task, skipped []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		parts := taskLine.FindStringSubmatch(lines.Text())
		if parts == nil || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		category := parts[1]
		if !taskCategories.MatchString(category) || taskSkipped.MatchString(category) {
			if !slices.Contains(skipped, category) {
				skipped = append(skipped, category)
			}
			continue
		}
		t, err := parseTask(category, parts[2])
		if err != nil {
			return nil, nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, skipped, lines.Err()
}

func parseTask(category, text string) (task, error) {
	t := task{category: category, text: text}
	if inner, ok := strings.CutPrefix(text, "count("); ok {
		t.count, text = true, strings.TrimSuffix(inner, ")")
	}
	for _, p := range taskParameter.FindAllStringSubmatch(text, -1) {
		if err := t.parameter(p[1], p[2]); err != nil {
			return t, err
		}
	}
	text = strings.TrimSpace(taskParameter.ReplaceAllString(text, ""))
	if p := taskRange.FindStringSubmatch(text); p != nil {
		var err error
		t.numbers, err = newNumberRange(p[1:])
		return t, err
	}
	if p := taskSort.FindStringSubmatch(text); p != nil {
		if t.sort = sortFields[p[1]]; t.sort == "" {
			return t, fmt.Errorf("%q: unknown sort", text)
		}
		t.desc, text = t.sort == fieldLastMod, p[2]
	}
	return t, t.query(text)
}

func (t *task) parameter(name, value string) (err error) {
	switch name {
	case "filter":
		if t.filter = value == "5%"; !t.filter {
			err = fmt.Errorf("filter %q is not 5%%", value)
		}
	case "dvRangeFilter":
		t.within, err = newNumberRange(strings.Split(value, ","))
	case "facets":
		_, dimension, _ := strings.Cut(value, ":")
		if t.facet = facetFields[dimension]; t.facet == "" {
			err = fmt.Errorf("facet %q is unknown", value)
		}
	}
	return err
}

func newNumberRange(parts []string) (*numberRange, error) {
	if len(parts) != 3 || numberFields[parts[0]] == "" {
		return nil, fmt.Errorf("range %q", parts)
	}
	lo, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return nil, err
	}
	hi, err := strconv.ParseInt(parts[2], 10, 64)
	return &numberRange{numberFields[parts[0]], lo, hi}, err
}

func (t *task) query(text string) error {
	fuzzy := taskFuzzy.FindStringSubmatch(text)
	switch {
	case text == "*:*":
		t.every = true
	case fuzzy != nil:
		t.fuzzy, t.edits = fuzzy[1], int(fuzzy[2][0]-'0')
	case strings.HasPrefix(text, `"`):
		t.phrase = wordsOf(text)
	case strings.HasSuffix(text, "*"):
		t.prefix = strings.TrimSuffix(text, "*")
	case strings.Contains(text, "*"):
		t.wildcard = text
	default:
		t.all = strings.HasPrefix(text, "+")
		t.words = terms(text)
	}
	if !t.every && t.fuzzy+t.prefix+t.wildcard == "" && len(t.words)+len(t.phrase) == 0 {
		return fmt.Errorf("%q has no words", text)
	}
	return nil
}

// wordsOf are all tokens, in order.
func wordsOf(text string) (words []string) {
	for _, token := range (tokenizer{}).Tokenize([]byte(text)) {
		words = append(words, string(token.Term))
	}
	return words
}
