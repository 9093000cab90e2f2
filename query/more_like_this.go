package query

import "strconv"

// MoreLikeThis matches documents with the words that are typical of some texts: those that are frequent in
// the texts and rare in the index. It is the query of Lucene's MoreLikeThis. Zero values are the defaults
// of OpenSearch.
type MoreLikeThis struct {
	// Fields are texts and keywords to compare; nil: the default field.
	Fields []string
	// Texts and the documents IDs, as stored, are the like texts. An id without a document counts for
	// nothing.
	Texts, IDs []string
	// UnlikeTexts and UnlikeIDs have words that do not count.
	UnlikeTexts, UnlikeIDs []string
	// MinTermFreq is the least frequency of a word in the like texts; default 2.
	MinTermFreq int
	// MinDocFreq and MaxDocFreq bound the number of documents of a word; defaults 5 and none.
	MinDocFreq, MaxDocFreq int
	// MinLength and MaxLength bound the characters of a word; default none.
	MinLength, MaxLength int
	// StopWords are terms of the index that do not count.
	StopWords []string
	// MaxTerms is the number of words in the query, the most typical ones; default 25.
	MaxTerms int
	// AtLeast is the number of these words that a document has; default "30%".
	AtLeast Minimum
	// BoostTerms, if not 0, multiplies the score of each word with it and how typical the word is, 1 for
	// the most typical one.
	BoostTerms float64
	// Include: the documents of IDs match too.
	Include bool
	Boost   float64
}

func (*MoreLikeThis) node() {}

func (m *MoreLikeThis) boost() *float64 { return &m.Boost }

// String returns the fields, and texts and ids, as in like(title: "black holes" _id:7).
func (m *MoreLikeThis) String() string { return string(m.append(nil)) }

func (m *MoreLikeThis) append(dst []byte) []byte {
	dst = append(dst, "like("...)
	for i, f := range m.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendWord(dst, f)
	}
	if len(m.Fields) > 0 {
		dst = append(dst, ": "...)
	}
	dst = appendLike(dst, m.Texts, m.IDs, "")
	if len(m.UnlikeTexts)+len(m.UnlikeIDs) > 0 {
		dst = appendLike(append(dst, ' '), m.UnlikeTexts, m.UnlikeIDs, "-")
	}
	return appendBoost(append(dst, ')'), m.Boost)
}

func appendLike(dst []byte, texts, ids []string, sign string) []byte {
	start := len(dst)
	next := func() {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		dst = append(dst, sign...)
	}
	for _, t := range texts {
		next()
		dst = strconv.AppendQuote(dst, t)
	}
	for _, id := range ids {
		next()
		dst = appendWord(appendField(dst, idName), id)
	}
	return dst
}

func (v *validator) moreLikeThis(m *MoreLikeThis, outer float64) error {
	if len(m.Texts)+len(m.IDs) == 0 {
		return invalid(ErrSyntax, "a MoreLikeThis has no texts and ids")
	}
	for _, n := range []int{m.MinTermFreq, m.MinDocFreq, m.MaxDocFreq, m.MinLength, m.MaxLength, m.MaxTerms} {
		if n < 0 {
			return invalid(ErrSyntax, "a MoreLikeThis with the number %d", n)
		}
	}
	if m.MaxTerms > MaxClauses || len(m.IDs)+len(m.UnlikeIDs) > MaxClauses {
		return invalid(ErrTooManyClauses, "a MoreLikeThis with more than %d words or documents", MaxClauses)
	}
	if !(m.BoostTerms >= 0 && m.BoostTerms <= MaxBoost) {
		return invalid(ErrSyntax, "a MoreLikeThis that boosts terms by %g, not 0 to %d", m.BoostTerms, MaxBoost)
	}
	if err := m.AtLeast.validate(); err != nil {
		return err
	}
	// Its texts may be long: they are no words of the query.
	return v.leaf("", outer*max(m.BoostTerms, 1), m.Boost)
}
