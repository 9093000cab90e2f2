package main

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/registry"
)

const simpleTokenizer = "griffin_simple"

// Longer tokens are not words, such as encoded data.
const maxTokenBytes = 40

// tokenizer splits text into the tokens of Griffin's analyzer "simple": runs of
// letters and digits in lower case.
type tokenizer struct{}

var _ analysis.Tokenizer = tokenizer{}

func init() {
	err := registry.RegisterTokenizer(simpleTokenizer,
		func(map[string]any, *registry.Cache) (analysis.Tokenizer, error) { return tokenizer{}, nil })
	if err != nil {
		panic(err)
	}
}

// Tokenize copies terms, with two allocations: as fast as bleve's interface
// permits.
func (tokenizer) Tokenize(text []byte) analysis.TokenStream {
	lower := make([]byte, 0, len(text)+len(text)/8)
	tokens := make([]analysis.Token, 0, len(text)/5+1)
	start, from := -1, 0 // of the current token: in text, in lower
	end := func(at int) {
		if start >= 0 && len(lower)-from <= maxTokenBytes {
			tokens = append(tokens, analysis.Token{
				Term: lower[from:len(lower):len(lower)], Start: start, End: at,
				Position: len(tokens) + 1, Type: analysis.AlphaNumeric,
			})
		}
		start = -1
	}
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		if isWordRune(r) {
			if start < 0 {
				start, from = i, len(lower)
			}
			lower = utf8.AppendRune(lower, lowerRune(r))
		} else if start >= 0 {
			end(i)
		}
		i += size
	}
	end(len(text))
	stream := make(analysis.TokenStream, len(tokens))
	for i := range tokens {
		stream[i] = &tokens[i]
	}
	return stream
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func lowerRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

// The distinct tokens, in order of first appearance.
func terms(query string) []string {
	seen := make(map[string]bool)
	var distinct []string
	for _, token := range (tokenizer{}).Tokenize([]byte(query)) {
		if term := string(token.Term); !seen[term] {
			seen[term] = true
			distinct = append(distinct, term)
		}
	}
	return distinct
}
