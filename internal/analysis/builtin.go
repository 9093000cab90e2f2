package analysis

import (
	"encoding/json"

	"golang.org/x/text/unicode/norm"
)

// nfc is the form of chains without another.
var nfc = form{norm: norm.NFC}

// builtinChain is a registered analyzer that is made of parts.
type builtinChain struct {
	name, description string
	tokenizer         string
	filters           []string // JSON
	noNormal          bool
}

var builtinChains = []builtinChain{
	{
		name: "cjk", description: "Chinese, Japanese and Korean: bigrams of adjacent characters, half and full width folded, lower case, English stop words removed; NFC",
		tokenizer: "standard", filters: []string{`"cjk_width"`, `"lowercase"`, `"cjk_bigram"`, `"stop"`},
	},
	{
		name: "code", description: "identifiers as a whole and their parts (camelCase, snake_case, dots, digits), C++ and C# apart from C, lower case; NFC",
		tokenizer: "code", filters: []string{`"lowercase"`},
	},
	{
		name: "english-full", description: "as english in NFC; stop words are indexed, for phrases and for queries of nothing else, and left out of other queries",
		tokenizer: "standard", filters: []string{`"possessive_english"`, `"lowercase"`, `{"type": "stop", "queries_only": true}`, `"porter_stem"`},
	},
	{
		name: "keyword", description: "the text as one term, unchanged",
		tokenizer: "keyword", noNormal: true,
	},
	{
		name: "standard", description: "UAX #29 words in lower case, no stop words, no stemming; NFC",
		tokenizer: "standard", filters: []string{`"lowercase"`},
	},
	{
		name: "stop", description: "runs of letters in lower case, English stop words removed, no stemming; NFC",
		tokenizer: "lowercase", filters: []string{`"stop"`},
	},
}

func (c builtinChain) blueprint() *blueprint {
	d := chainDefinition{name: c.name, tokenizer: json.RawMessage(`"` + c.tokenizer + `"`), noNormal: c.noNormal}
	for _, f := range c.filters {
		d.filters = append(d.filters, json.RawMessage(f))
	}
	made, err := new(builder).chain(&d)
	if err != nil {
		panic(err) // a bug: tests make all of them
	}
	return made
}
