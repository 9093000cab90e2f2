package analysis

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// keepMapper keeps words of a list only.
type keepMapper struct{ set wordSet }

var _ mapper = (*keepMapper)(nil)

func (f *keepMapper) mapTerm(w *word, _ *memory) bool { return f.set.has(w.term) }

func newKeep(p *parameters) filterMaker {
	p.embed("keep_words")
	list, given := p.lines("keep_words")
	if !given {
		p.fail("parameter [keep_words] is missing")
	}
	fold := p.boolean("keep_words_case", false) // of the list and of the words, as in OpenSearch
	return fresh(func() filter { return &keepMapper{newWordSet(list, fold)} })
}

// repeater emits each word twice; stemmers do not change the first copy.
type repeater struct{}

var _ rewriter = repeater{}

func (repeater) rewrite(dst, words []word, _ *memory) []word {
	for _, w := range words {
		kept := w
		kept.keyword = true
		dst = append(dst, kept, w)
	}
	return dst
}

// overrideMapper replaces words, and keeps them from stemmers.
type overrideMapper struct {
	stems map[string]string
	fold  bool
	lower []byte
}

var _ mapper = (*overrideMapper)(nil)

func (f *overrideMapper) mapTerm(w *word, m *memory) bool {
	if w.keyword {
		return true
	}
	key := w.term
	if f.fold {
		f.lower = appendLower(f.lower[:0], key)
		key = f.lower
	}
	if stem, ok := f.stems[string(key)]; ok {
		from := len(m.buffer)
		m.buffer = append(m.buffer, stem...)
		w.term, w.keyword = m.grown(from), true
	}
	return true
}

func newStemmerOverride(p *parameters) filterMaker {
	p.embed("rules")
	rules, given := p.lines("rules")
	if !given {
		p.fail("parameter [rules] is missing")
	}
	fold := p.boolean("ignore_case", false)
	stems := map[string]string{}
	for _, rule := range rules {
		left, stem, ok := strings.Cut(rule, "=>")
		stem = strings.TrimSpace(stem)
		if !ok || stem == "" || strings.ContainsAny(stem, ",") || strings.Contains(stem, "=>") {
			p.fail("parameter [rules] has [%.80s]: want words => stem", rule)
			continue
		}
		for word := range strings.SplitSeq(left, ",") {
			if word = strings.TrimSpace(word); word == "" {
				p.fail("parameter [rules] has [%.80s]: want words => stem", rule)
				continue
			}
			if fold {
				word = string(appendLower(nil, []byte(word)))
			}
			if stems[word] == "" { // the first rule of a word wins
				stems[word] = stem
			}
		}
	}
	return fresh(func() filter { return &overrideMapper{stems: stems, fold: fold} })
}

// digitMapper makes decimal digits of all scripts ASCII.
type digitMapper struct{}

var _ mapper = digitMapper{}

func (digitMapper) mapTerm(w *word, m *memory) bool {
	if isASCII(w.term) {
		return true
	}
	from := len(m.buffer)
	for _, r := range string(w.term) {
		if r >= utf8.RuneSelf && unicode.IsDigit(r) {
			r = '0' + digitValue(r)
		}
		m.buffer = utf8.AppendRune(m.buffer, r)
	}
	w.term = m.grown(from)
	return true
}

// digitValue: Unicode has decimal digits in runs of ten from zero on, some of them side by side.
func digitValue(r rune) rune {
	first := r
	for unicode.IsDigit(first - 1) {
		first--
	}
	return (r - first) % 10
}

// fingerprintFilter makes one word of the sorted different words of a text.
type fingerprintFilter struct {
	separator string
	most      int
	terms     [][]byte
}

var _ rewriter = (*fingerprintFilter)(nil)

func newFingerprint(p *parameters) filterMaker {
	separator, most := p.character("separator", " "), p.number("max_output_size", 255, 1, maxTermBytes)
	return fresh(func() filter { return &fingerprintFilter{separator: separator, most: most} })
}

func (f *fingerprintFilter) rewrite(dst, words []word, m *memory) []word {
	if len(words) == 0 {
		return dst
	}
	f.terms = f.terms[:0]
	out := word{start: words[0].start, length: 1}
	for i := range words {
		f.terms = append(f.terms, words[i].term)
		out.start, out.end = min(out.start, words[i].start), max(out.end, words[i].end)
	}
	base.Sort(f.terms, bytes.Compare)
	f.terms = slices.CompactFunc(f.terms, bytes.Equal)
	from := len(m.buffer)
	for i, term := range f.terms {
		if i > 0 {
			m.buffer = append(m.buffer, f.separator...)
		}
		m.buffer = append(m.buffer, term...)
	}
	out.term = m.grown(from)
	if utf8.RuneCount(out.term) > f.most || len(out.term) > maxTermBytes {
		return dst
	}
	return append(dst, out)
}
