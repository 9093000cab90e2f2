package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"
)

// taskPassage is a passage with fields for tasks.
type taskPassage struct {
	passage
	n int
}

func readTaskPassages(in subset) (all []taskPassage, err error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := newLineScanner(f)
	for n := 0; lines.Scan(); n++ {
		p := taskPassage{n: n}
		if err := json.Unmarshal(lines.Bytes(), &p.passage); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, lines.Err()
}

// spread is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of the passage's number, in [0, 1).
func (p *taskPassage) spread(seed uint64) float64 {
	x := uint64(p.n)*0x9e3779b97f4a7c15 + seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// The times of the revisions of luceneutil's corpus: half of them in the last of ten years.
var (
	firstMod = time.Date(2002, 11, 5, 0, 0, 0, 0, time.UTC)
	lastMod  = time.Date(2012, 5, 3, 0, 0, 0, 0, time.UTC)
)

func (p *taskPassage) modified() time.Time {
	age := math.Pow(p.spread(1), 4) * float64(lastMod.Sub(firstMod))
	return lastMod.Add(-time.Duration(age)).Truncate(time.Millisecond)
}

// number is the value of a field of numbers.
func (p *taskPassage) number(field string) int64 {
	switch field {
	case fieldLastMod:
		return p.modified().UnixMilli()
	case fieldDay:
		return int64(p.modified().YearDay())
	}
	return int64(p.spread(2) * 86400)
}

// keyword is the value of a field of keywords; "" for none.
func (p *taskPassage) keyword(field string) string {
	switch field {
	case fieldTitle:
		return p.Title
	case fieldMonth:
		return p.modified().Format("Jan")
	case fieldDate:
		return p.modified().Format(time.DateOnly)
	case fieldDayText:
		return fmt.Sprintf("%03d", p.modified().YearDay())
	case fieldLabel:
		return fmt.Sprintf("label%03d", int(p.spread(3)*1000))
	}
	if p.spread(4) < 0.05 {
		return taskFilter
	}
	return ""
}

var (
	numberFieldNames  = []string{fieldLastMod, fieldDay, fieldSeconds}
	keywordFieldNames = []string{fieldTitle, fieldMonth, fieldDate, fieldDayText, fieldLabel, fieldPart}
)

// sortValue is what tasks sort by, as text.
func (p *taskPassage) sortValue(field string) string {
	if field == fieldTitle || field == fieldMonth {
		return p.keyword(field)
	}
	return fmt.Sprint(p.number(field))
}
