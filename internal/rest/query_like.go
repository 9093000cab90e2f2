package rest

import (
	"bytes"
	"encoding/json"

	"github.com/griffin-search/griffin/query"
)

// moreLikeThis reads a more_like_this.
func (p *queryParser) moreLikeThis(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("more_like_this", raw, "fields", "like", "unlike", "min_term_freq", "min_doc_freq", "max_doc_freq", "min_word_length",
		"max_word_length", "stop_words", "max_query_terms", "minimum_should_match", "boost_terms", "include", "boost")
	if err != nil {
		return nil, err
	}
	m := &query.MoreLikeThis{
		MinTermFreq: o.atLeastOne("min_term_freq"), MinDocFreq: o.atLeastOne("min_doc_freq"), MaxDocFreq: o.whole("max_doc_freq", maxDocFreq),
		MinLength: o.whole("min_word_length", query.MaxBytes), MaxLength: o.whole("max_word_length", query.MaxBytes),
		MaxTerms: o.whole("max_query_terms", query.MaxClauses), AtLeast: o.minimum(), BoostTerms: o.number("boost_terms", 0, 0, query.MaxBoost),
		Include: o.boolean("include", false), Boost: o.boost(),
	}
	if o.values["stop_words"] != nil {
		m.StopWords = o.texts("stop_words")
	}
	if o.values["fields"] != nil {
		fields, err := p.fields(&o)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			if f.Weight != 1 {
				o.refuse("fields", "[more_like_this] query has [fields] with factors, which are not supported")
			}
			m.Fields = append(m.Fields, f.Name)
		}
	}
	if o.values["like"] == nil {
		o.fail("[more_like_this] query needs [like]")
	}
	if o.err != nil {
		return nil, o.err
	}
	if m.Texts, m.IDs, err = p.liked(&o, "like"); err != nil {
		return nil, err
	}
	if o.values["unlike"] != nil {
		if m.UnlikeTexts, m.UnlikeIDs, err = p.liked(&o, "unlike"); err != nil {
			return nil, err
		}
	}
	return m, o.err
}

// maxDocFreq bounds numbers of documents.
const maxDocFreq = 1 << 31

// atLeastOne is a whole number; 0, which means 1, is not left out.
func (o *object) atLeastOne(key string) int {
	if o.values[key] == nil {
		return 0
	}
	return max(o.whole(key, maxDocFreq), 1)
}

// liked reads a text, {"_id": "7"}, or a list of these.
func (p *queryParser) liked(o *object, key string) (texts, ids []string, err *Error) {
	list := []json.RawMessage{o.values[key]}
	if raw := bytes.TrimSpace(o.values[key]); len(raw) > 0 && raw[0] == '[' {
		var ok bool
		if list, ok = decodeList(raw); !ok {
			return nil, nil, badRequest(typeParsing, "[more_like_this] query has [%s] %.60s: want texts and documents", key, raw).at(raw)
		}
	}
	for _, raw := range list {
		if text, ok := scalarText(raw); ok {
			texts = append(texts, text)
			continue
		}
		d, err := options("more_like_this", raw, "_index", "_id")
		if err != nil {
			return nil, nil, err
		}
		d.only("_index", p.x.name)
		if ids = append(ids, d.needed("_id")); d.err != nil {
			return nil, nil, d.err
		}
	}
	return texts, ids, nil
}
