package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// show writes tokens as term@position, with +length where that is not 1.
func show(tokens []Token, arcs []Arc) string {
	var b strings.Builder
	for i, token := range tokens {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s@%d", token.Term, token.Position)
		if arcs != nil && arcs[i].Length != 1 {
			fmt.Fprintf(&b, "+%d", arcs[i].Length)
		}
	}
	return b.String()
}

// settingsOf has one analyzer, "a".
func settingsOf(t testing.TB, analyzer string, parts ...string) *Settings {
	t.Helper()
	text := `{"analyzer": {"a": ` + analyzer + `}`
	for _, p := range parts {
		text += ", " + p
	}
	s, err := ParseSettings([]byte(text+"}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func analyze(t testing.TB, s *Settings, use Use, text string) string {
	t.Helper()
	a, err := s.New("a", use)
	if err != nil {
		t.Fatal(err)
	}
	tokens := a.Tokens(nil, []byte(text))
	checkChainTokens(t, text, tokens, a)
	return show(tokens, Arcs(a))
}

// Invariants of a chain, whose tokens can overlap.
func checkChainTokens(t testing.TB, text string, tokens []Token, a Analyzer) {
	t.Helper()
	seen := map[string]bool{}
	for i, token := range tokens {
		key := fmt.Sprintf("%d %s", token.Position, token.Term)
		switch {
		case len(token.Term) == 0 || !utf8.Valid(token.Term):
			t.Fatalf("%q: token %d has the term %q", text, i, token.Term)
		case token.Start < 0 || token.Start >= token.End || int(token.End) > len(text):
			t.Fatalf("%q: token %d (%q) has the offsets %d to %d", text, i, token.Term, token.Start, token.End)
		case i > 0 && token.Position < tokens[i-1].Position:
			t.Fatalf("%q: token %d (%q) has position %d after %d", text, i, token.Term, token.Position, tokens[i-1].Position)
		case seen[key]:
			t.Fatalf("%q: token %d (%q) stands at position %d twice", text, i, token.Term, token.Position)
		}
		seen[key] = true
	}
	arcs := Arcs(a)
	if arcs != nil && len(arcs) != len(tokens) {
		t.Fatalf("%q: %d arcs of %d tokens", text, len(arcs), len(tokens))
	}
	for i, arc := range arcs {
		if arc.Length == 0 || arc.Step == 0 {
			t.Fatalf("%q: token %d has the arc %+v", text, i, arc)
		}
	}
}

func filterOf(filter string) string {
	return `{"tokenizer": "whitespace", "filter": [` + filter + `]}`
}

func tokenizerOf(tokenizer string) string { return `{"tokenizer": ` + tokenizer + `}` }

func charFilterOf(filter string) string {
	return `{"tokenizer": "whitespace", "char_filter": [` + filter + `]}`
}

// Expected values are of OpenSearch's documentation of each part, where it has them.
func TestParts(t *testing.T) {
	for _, tc := range []struct{ name, analyzer, text, want string }{
		{"html_strip", charFilterOf(`"html_strip"`), "<p>I&apos;m so <b>happy</b>!</p><script>x<y</script> a&lt;b &eacute;", "I'm@0 so@1 happy!@2 a<b@3 é@4"},
		{"html_strip escaped", charFilterOf(`{"type": "html_strip", "escaped_tags": ["b"]}`), "<p><b>happy</b></p>", "<b>happy</b>@0"},
		{"html_strip comment", charFilterOf(`"html_strip"`), "a<!-- b > --> c < d &amp e &unknown; <a href='>'>f", "a@0 c@1 <@2 d@3 &@4 e@5 &unknown;@6 f@7"},
		{"mapping", charFilterOf(`{"type": "mapping", "mappings": ["٠ => 0", ":) => _happy_", ":)) => \\u005fglad", "x=>"]}`), "xx٠ :) :)) x", "0@0 _happy_@1 _glad@2"},
		{"pattern_replace", charFilterOf(`{"type": "pattern_replace", "pattern": "(\\d+)-(\\d)", "replacement": "$1_$2"}`), "My card is 123-456", "My@0 card@1 is@2 123_456@3"},
		{"pattern_replace flags", charFilterOf(`{"type": "pattern_replace", "pattern": "A", "flags": "CASE_INSENSITIVE", "replacement": "\\$"}`), "bab", "b$b@0"},
		{"icu_normalizer", charFilterOf(`"icu_normalizer"`), "ＡＢＣ ﬁ Ǆ Straße", "abc@0 fi@1 dž@2 strasse@3"},
		{"default NFC", tokenizerOf(`"whitespace"`), "e\u0301a \u212b", "éa@0 Å@1"},
		{"no normal form", `{"tokenizer": "whitespace", "normalization": "none"}`, "e\u0301a", "e\u0301a@0"},

		{"standard", tokenizerOf(`"standard"`), "The 2 QUICK Brown-Foxes jumped over the lazy dog's bone.", "The@0 2@1 QUICK@2 Brown@3 Foxes@4 jumped@5 over@6 the@7 lazy@8 dog's@9 bone@10"},
		{"standard length", tokenizerOf(`{"type": "standard", "max_token_length": 5}`), "jumped é", "jumpe@0 d@1 é@2"},
		{"letter", tokenizerOf(`"letter"`), "The 2 dog's", "The@0 dog@1 s@2"},
		{"lowercase", tokenizerOf(`"lowercase"`), "The 2 ÉCOLES", "the@0 écoles@1"},
		{"keyword", tokenizerOf(`"keyword"`), " New York ", " New York @0"},
		{"pattern", tokenizerOf(`"pattern"`), "The foo_bar_size's default is 5.", "The@0 foo_bar_size@1 s@2 default@3 is@4 5@5"},
		{"pattern split", tokenizerOf(`{"type": "pattern", "pattern": ","}`), ",comma,,separated", "comma@0 separated@1"},
		{"pattern group", tokenizerOf(`{"type": "pattern", "pattern": "\"((?:\\\\\"|[^\"]|\\\\\")*)\"", "group": 1}`), `"value", "value with embedded \" quote"`, `value@0 value with embedded \" quote@1`},
		{"ngram", tokenizerOf(`"ngram"`), "Qui", "Q@0 Qu@1 u@2 ui@3 i@4"},
		{"ngram classes", tokenizerOf(`{"type": "ngram", "min_gram": 3, "max_gram": 3, "token_chars": ["letter", "digit"]}`), "2 Quick é-Fox.", "Qui@0 uic@1 ick@2 Fox@3"},
		{"edge_ngram", tokenizerOf(`{"type": "edge_ngram", "min_gram": 2, "max_gram": 10, "token_chars": ["letter", "digit"]}`), "2 Quick", "Qu@0 Qui@1 Quic@2 Quick@3"},
		{"edge_ngram custom", tokenizerOf(`{"type": "edge_ngram", "min_gram": "1", "max_gram": "2", "token_chars": ["letter", "custom"], "custom_token_chars": "+-"}`), "a+b", "a@0 a+@1"},
		{"path_hierarchy", tokenizerOf(`"path_hierarchy"`), "/one/two/three", "/one@0 /one/two@0 /one/two/three@0"},
		{"path_hierarchy skip", tokenizerOf(`{"type": "path_hierarchy", "delimiter": "-", "replacement": "/", "skip": 2}`), "one-two-three-four-five", "/three@0 /three/four@0 /three/four/five@0"},
		{"path_hierarchy reverse", tokenizerOf(`{"type": "path_hierarchy", "delimiter": "-", "replacement": "/", "skip": 2, "reverse": true}`), "one-two-three-four-five", "one/two/three/@0 two/three/@0 three/@0"},
		{"path_hierarchy end", tokenizerOf(`{"type": "path_hierarchy", "replacement": "→"}`), "a/b/", "a@0 a→b@0 a→b→@0"},
		{"uax_url_email", tokenizerOf(`"uax_url_email"`), "Email me at john.smith@global-international.com, or https://x.org/a?b=1&c#d. OK", "Email@0 me@1 at@2 john.smith@global-international.com@3 or@4 https://x.org/a?b=1&c#d@5 OK@6"},

		{"lowercase", filterOf(`"lowercase"`), "THE Quick ÉCOLE", "the@0 quick@1 école@2"},
		{"lowercase greek", filterOf(`{"type": "lowercase", "language": "greek"}`), "Άριστος", "αριστοσ@0"},
		{"lowercase turkish", filterOf(`{"type": "lowercase", "language": "turkish"}`), "IŞIK İs", "ışık@0 is@1"},
		{"lowercase irish", filterOf(`{"type": "lowercase", "language": "irish"}`), "nAthair Éire", "n-athair@0 éire@1"},
		{"uppercase", filterOf(`"uppercase"`), "the é", "THE@0 É@1"},
		{"stop", filterOf(`"stop"`), "a quick fox The", "quick@1 fox@2 The@3"},
		{"stop words", filterOf(`{"type": "stop", "stopwords": ["and", "IS"], "ignore_case": true}`), "AND is the", "the@2"},
		{"stop none", filterOf(`{"type": "stop", "stopwords": "_none_"}`), "the", "the@0"},
		{"stemmer", filterOf(`"stemmer"`), "the foxes jumping quickly", "the@0 fox@1 jump@2 quickli@3"},
		{"stemmer porter2", filterOf(`{"type": "stemmer", "language": "porter2"}`), "quickly generously", "quick@0 generous@1"},
		{"stemmer german", filterOf(`{"type": "stemmer", "name": "german"}`), "häuser", "haus@0"},
		{"snowball", filterOf(`{"type": "snowball", "language": "English"}`), "generously", "generous@0"},
		{"possessive", filterOf(`{"type": "stemmer", "language": "possessive_english"}`), "John's dogs'", "John@0 dogs'@1"},
		{"keyword_marker", filterOf(`{"type": "keyword_marker", "keywords": ["jumping"]}, "stemmer"`), "running jumping", "run@0 jumping@1"},
		{"asciifolding", filterOf(`"asciifolding"`), "açaí à la carte Straße Ærø ½ ﬁ ②", "acai@0 a@1 la@2 carte@3 Strasse@4 AEro@5 1/2@6 fi@7 2@8"},
		{"asciifolding others", filterOf(`"asciifolding"`), "й ά 日本 が", "й@0 ά@1 日本@2 が@3"},
		{"asciifolding keeps", filterOf(`{"type": "asciifolding", "preserve_original": true}`), "é e", "e@0 é@0 e@1"},
		{"icu_folding", filterOf(`"icu_folding"`), "Άλφα Й ÅNGSTRÖM ﬁ ß", "αλφα@0 и@1 angstrom@2 fi@3 ss@4"},
		{"icu_normalizer", filterOf(`{"type": "icu_normalizer", "name": "nfkc"}`), "② Ａ", "2@0 A@1"},
		{"cjk_width", filterOf(`"cjk_width"`), "ｼｰｻｲﾄﾞﾗｲﾅｰ ＡＢＣ１", "シーサイドライナー@0 ABC1@1"},
		{"cjk_bigram", `{"tokenizer": "standard", "filter": ["cjk_bigram"]}`, "東京都は日本 x カ 한국어 y", "東京@0 京都@1 都は@2 は日@3 日本@4 x@5 カ@6 한국@7 국어@8 y@9"},
		{"cjk_bigram unigrams", `{"tokenizer": "standard", "filter": [{"type": "cjk_bigram", "ignored_scripts": ["hiragana"], "output_unigrams": true}]}`, "東京都は x", "東@0 東京@0+2 京@1 京都@1+2 都@2 は@3 x@4"},
		{"ngram", filterOf(`"ngram"`), "ab c", "a@0 ab@0 b@0 c@1"},
		{"ngram keeps", filterOf(`{"type": "ngram", "min_gram": 2, "max_gram": 3, "preserve_original": true}`), "abcd x", "ab@0 abc@0 bc@0 bcd@0 cd@0 abcd@0 x@1"},
		{"edge_ngram", filterOf(`{"type": "edge_ngram", "max_gram": 3}`), "quick", "q@0 qu@0 qui@0"},
		{"length", filterOf(`{"type": "length", "min": 2, "max": 4}`), "é the quick fox", "the@1 fox@3"},
		{"shingle", filterOf(`{"type": "shingle"}`), "please divide this", "please@0 please divide@0 divide@1 divide this@1 this@2"},
		{"shingles only", filterOf(`{"type": "shingle", "min_shingle_size": 2, "max_shingle_size": 3, "output_unigrams": false, "token_separator": "+"}`), "a b c", "a+b@0 a+b+c@0 b+c@1"},
		{"shingle of one word", filterOf(`{"type": "shingle", "output_unigrams": false, "output_unigrams_if_no_shingles": true}`), "a", "a@0"},
		{"no shingle", filterOf(`{"type": "shingle", "output_unigrams": false}`), "a", ""},
		{"shingles of sizes", filterOf(`{"type": "shingle", "min_shingle_size": 3, "max_shingle_size": 3}`), "a b c d", "a@0 a b c@0 b@1 b c d@1 c@2 d@3"},
		{"keep", filterOf(`{"type": "keep", "keep_words": ["a", "C"]}`), "a b C c", "a@0 C@2"},
		{"keep in any case", filterOf(`{"type": "keep", "keep_words": ["Whale", "É"], "keep_words_case": true}`), "whale a Whale é", "whale@0 Whale@2 é@3"},
		{"decimal_digit", filterOf(`"decimal_digit"`), "٣٤ ५ 𝟘𝟡 a1", "34@0 5@1 09@2 a1@3"},
		{"fingerprint", filterOf(`{"type": "fingerprint", "separator": "-"}`), "b a b C", "C-a-b@0"},
		{"long fingerprint", filterOf(`{"type": "fingerprint", "max_output_size": 4}`), "b a c", ""},
		{"truncate", filterOf(`{"type": "truncate", "length": 3}`), "ééééé fox", "ééé@0 fox@1"},
		{"unique", filterOf(`"unique"`), "the lazy the lazy dog", "the@0 lazy@1 dog@4"},
		{"unique position", filterOf(`{"type": "unique", "only_on_same_position": true}`), "the the", "the@0 the@1"},
		{"limit", filterOf(`{"type": "limit", "max_token_count": 2}`), "a b c", "a@0 b@1"},
		{"trim", `{"tokenizer": "keyword", "filter": ["trim"]}`, " fox ", "fox@0"},
		{"reverse", filterOf(`"reverse"`), "quité é", "étiuq@0 é@1"},
		{"elision", filterOf(`"elision"`), "j'examine L’île d'O'Connor", "examine@0 île@1 O'Connor@2"},
		{"elision articles", filterOf(`{"type": "elision", "articles": ["Z"], "articles_case": true}`), "z'a l'b", "a@0 l'b@1"},
		{"apostrophe", filterOf(`"apostrophe"`), "Istanbul'a veya İzmir’den", "Istanbul@0 veya@1 İzmir@2"},
		{"pattern_replace", filterOf(`{"type": "pattern_replace", "pattern": "(dog)", "replacement": "watch$1"}`), "foxes dogdog", "foxes@0 watchdogwatchdog@1"},
		{"pattern_replace first", filterOf(`{"type": "pattern_replace", "pattern": "o", "all": false}`), "foo o", "fo@0"},
		{"word_delimiter_graph", filterOf(`"word_delimiter_graph"`), "Neil's-Super-Duper-XL500--42+AutoCoder x", "Neil@0 Super@1 Duper@2 XL@3 500@4 42@5 Auto@6 Coder@7 x@8"},
		{"word_delimiter joins", filterOf(`{"type": "word_delimiter_graph", "catenate_all": true, "catenate_words": true, "preserve_original": true}`), "Wi-Fi-5 x", "WiFi5@0+3 Wi-Fi-5@0+3 WiFi@0+2 Wi@0 Fi@1 5@2 x@3"},
		{"word_delimiter only joins", filterOf(`{"type": "word_delimiter_graph", "generate_word_parts": false, "generate_number_parts": false, "catenate_words": true, "catenate_numbers": true}`), "sm-ith-12-3 x", "smith@0 123@1 x@2"},
		{"word_delimiter types", filterOf(`{"type": "word_delimiter_graph", "type_table": ["# => ALPHANUM", "\\u002d => ALPHA"], "protected_words": ["a_b"]}`), "c# a-b a_b a_c", "c#@0 a-b@1 a_b@2 a@3 c@4"},
		{"word_delimiter case", filterOf(`{"type": "word_delimiter_graph", "split_on_case_change": false, "split_on_numerics": false}`), "fooBar x86_b", "fooBar@0 x86@1 b@2"},
		{"flatten_graph", filterOf(`{"type": "word_delimiter_graph", "catenate_all": true}, "flatten_graph"`), "a-b", "ab@0 a@0 b@1"},

		{"type standard", `{"type": "standard", "stopwords": "_english_", "max_token_length": 5}`, "The 2 quickest", "2@1 quick@2 est@3"},
		{"type stop", `{"type": "stop", "stopwords": ["over"]}`, "Jumped2over it", "jumped@0 it@2"},
		{"type pattern", `{"type": "pattern", "pattern": "[-_]", "stopwords": "b"}`, "A-b_C", "a@0 c@2"},
		{"type english", `{"type": "english", "stopwords": "_none_", "stem_exclusion": ["running"]}`, "the Running dogs'", "the@0 running@1 dog@2"},
		{"type simple", `{"type": "simple"}`, "A-b", "a@0 b@1"},
		{"type code", `{"type": "code"}`, "aB", "ab@0+2 a@0 b@1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := settingsOf(t, tc.analyzer)
			if got := analyze(t, s, Documents, tc.text); got != tc.want {
				t.Errorf("%s\n%q:\n got %s\nwant %s", tc.analyzer, tc.text, got, tc.want)
			}
		})
	}
}

func TestCode(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"net.parseURLWith_utf8 x", "net.parseurlwith_utf8@0+6 net@0 parseurlwith_utf8@1+5 parseurlwith@1+3 parse@1 url@2 with@3 utf8@4+2 utf@4 8@5 x@6"},
		{"C++ c# C F# g++ C", "c++@0 c#@1 c@2 f#@3 g++@4 c@5"},
		{"i++ c+++d C#x ## x.# c++17", "i@0 c@1 d@2 c@3 x@4 x@5 c++@6 17@7"},
		{"__init__ _ _._ a__b", "init@0 a__b@1+2 a@1 b@2"},
		{"getHTTPServer2 v1.2.3 sha256Sum", "gethttpserver2@0+4 get@0 http@1 server2@2+2 server@2 2@3 v1.2.3@4+4 v1@4+2 v@4 1@5 2@6 3@7 sha256sum@8+3 sha256@8+2 sha@8 256@9 sum@10"},
		{"x.y. .z std::vector<int>", "x.y@0+2 x@0 y@1 z@2 std@3 vector@4 int@5"},
		{"日本語のcode Größe straßeName", "日@0 本@1 語@2 の@3 code@4 größe@5 straßename@6+2 straße@6 name@7"},
	} {
		s := settingsOf(t, `{"type": "code"}`)
		if got := analyze(t, s, Queries, tc.text); got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

func TestSynonyms(t *testing.T) {
	synonyms := func(parameters string) string {
		return `"filter": {"s": {"type": "synonym_graph", ` + parameters + `}}`
	}
	for _, tc := range []struct{ name, parameters, text, want string }{
		{"one word", `"synonyms": ["sea, Ocean"]`, "the sea is", "the@0 sea@1 ocean@1 is@2"},
		{"arrow", `"synonyms": ["tv => television", "tv => telly"]`, "TV set", "television@0 telly@0 set@1"},
		{"arrow keeps", `"synonyms": ["tv => tv, telly"]`, "TV set", "tv@0 telly@0 set@1"},
		{"several words", `"synonyms": ["ny, new york, big apple"]`, "in ny now", "in@0 ny@1+3 new@1 big@1+2 york@2+2 apple@3 now@4"},
		{"from several words", `"synonyms": ["united states of america => usa"]`, "the United States of America today", "the@0 usa@1 today@2"},
		{"longest", `"synonyms": ["a b c => x", "a b => y", "a => z"]`, "a b c a b a", "x@0 y@1 z@2"},
		{"not expanded", `"synonyms": ["universe, cosmos"], "expand": false`, "cosmos universe", "universe@0 universe@1"},
		{"escapes", `"synonyms": ["# a comment", "", "a\\,b => c\\=>d"]`, "a,b", "c=>d@0"},
		{"lenient", `"synonyms": ["a => b => c", "x => y"], "lenient": true`, "x", "y@0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := settingsOf(t, `{"tokenizer": "whitespace", "filter": ["lowercase", "s"]}`, synonyms(tc.parameters))
			if got := analyze(t, s, Queries, tc.text); got != tc.want {
				t.Errorf("%q: got %s, want %s", tc.text, got, tc.want)
			}
			plain := settingsOf(t, `{"tokenizer": "whitespace", "filter": ["lowercase"]}`)
			if got, want := analyze(t, s, Documents, tc.text), analyze(t, plain, Documents, tc.text); got != want {
				t.Errorf("documents: %q: got %s, want %s", tc.text, got, want)
			}
		})
	}
}

// The filters of one chain make the same terms with a cache, without one, and for every use.
func TestUsesAgree(t *testing.T) {
	s := settingsOf(t, `{"tokenizer": "standard", "filter": ["possessive_english", "lowercase", "porter_stem", "s"]}`, `"filter": {"s": {"type": "synonym", "synonyms": ["zzzz => yyyy"]}}`)
	documents, queries := mustNew(t, s, "a", Documents), mustNew(t, s, "a", Queries)
	if _, ok := documents.(*wordAnalyzer); !ok {
		t.Errorf("documents are analysed by a %T", documents)
	}
	if _, ok := queries.(*chain); !ok {
		t.Errorf("queries are analysed by a %T", queries)
	}
	for _, text := range append(tokenSeeds, "J\u030c E\u0301COLES \u212bs K\u0301 İ") {
		want, got := documents.Tokens(nil, []byte(text)), queries.Tokens(nil, []byte(text))
		for i := range want {
			want[i].Word = 0
		}
		sameTokens(t, got, want)
	}
}

func mustNew(t testing.TB, s *Settings, name string, use Use) Analyzer {
	t.Helper()
	a, err := s.New(name, use)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStopWordsOfQueriesOnly(t *testing.T) {
	for _, tc := range []struct {
		use  Use
		want string
	}{
		{Documents, "to@0 be@1 or@2 not@3 to@4 be@5 dog@6"},
		{Phrases, "to@0 be@1 or@2 not@3 to@4 be@5 dog@6"},
		{Queries, "dog@6"},
	} {
		a := mustNew(t, nil, "english-full", tc.use)
		if got := show(a.Tokens(nil, []byte("To be or not to be, dogs")), Arcs(a)); got != tc.want {
			t.Errorf("use %d: got %s, want %s", tc.use, got, tc.want)
		}
	}
	// Other words have the terms and positions of english.
	english, full := mustNew(t, nil, "english", Documents), mustNew(t, nil, "english-full", Queries)
	for _, text := range tokenSeeds {
		if !nfc.norm.IsNormalString(text) {
			continue
		}
		want := show(english.Tokens(nil, []byte(text)), nil)
		if got := show(full.Tokens(nil, []byte(text)), nil); got != want {
			t.Errorf("%q: got %s, english has %s", text, got, want)
		}
	}
}

// Offsets are of the text before char filters.
func TestOffsets(t *testing.T) {
	for _, tc := range []struct{ analyzer, text, want string }{
		{charFilterOf(`"html_strip"`), "<p>I&apos;m <b>happy</b> x&amp;</p>", "I&apos;m happy x&amp;"},
		{charFilterOf(`"icu_normalizer"`), "ﬁx Straße ＡＢＣ", "ﬁx Straße ＡＢＣ"},
		{tokenizerOf(`"whitespace"`), "xe\u0301 e\u0301x", "xe\u0301 e\u0301x"},
		{charFilterOf(`{"type": "mapping", "mappings": ["a => xyz", "bcd => "]}`), "bcda aq abcd", "a aq a"},
		{`{"tokenizer": "standard", "char_filter": [{"type": "mapping", "mappings": ["& => \\u0020and\\u0020"]}]}`, "a&b", "a & b"},
		{`{"tokenizer": "standard", "char_filter": ["html_strip", {"type": "mapping", "mappings": ["é => e"]}]}`, "<i>é</i>té <i>x", "é</i>té x"},
	} {
		s := settingsOf(t, tc.analyzer)
		a := mustNew(t, s, "a", Documents)
		var got []string
		for _, token := range a.Tokens(nil, []byte(tc.text)) {
			got = append(got, tc.text[token.Start:token.End])
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %q: got %q, want %q", tc.analyzer, tc.text, got, tc.want)
		}
	}
}

func TestSettingsErrors(t *testing.T) {
	for _, tc := range []struct{ settings, want string }{
		{`[]`, "analysis settings: "},
		{`{"analysers": {}}`, `unknown field "analysers"`},
		{`{} {}`, "bytes after the object"},
		{`{"analyzer": {"a": {"tokenizer": "standard", "filters": []}}}`, "analyzer [a]: unknown parameter [filters], there are [char_filter, filter, normalization, position_increment_gap, tokenizer, type]"},
		{`{"analyzer": {"a": {}}}`, "analyzer [a] has no [tokenizer]"},
		{`{"analyzer": {"a": {"type": "klingon"}}}`, "analyzer [a]: there is no analyzer of type [klingon], there are [custom, pattern, arabic,"},
		{`{"analyzer": {"a": {"tokenizer": "standart"}}}`, "analyzer [a]: tokenizer [standart]: there is no tokenizer of type [standart], there are [code,"},
		{`{"analyzer": {"a": {"tokenizer": "standard", "filter": ["lowercase", "mine"]}}}`, "analyzer [a]: filter [mine]: there is no filter of type [mine], there are [apostrophe,"},
		{`{"analyzer": {"a": {"tokenizer": "standard", "filter": 3}}}`, "analyzer [a]: filter 3 is not a name"},
		{`{"analyzer": {"a": {"tokenizer": "standard", "filter": [{"min": 3}]}}}`, "analyzer [a]: a filter has no [type]"},
		{`{"analyzer": {"a": {"tokenizer": "standard", "char_filter": "x"}}}`, "analyzer [a]: char_filter [x]: there is no char filter of type [x], there are [html_strip,"},
		{`{"analyzer": {"a": {"tokenizer": "standard", "normalization": "nfd"}}}`, "analyzer [a]: parameter [normalization] is [nfd], want one of [nfc, none]"},
		{`{"filter": {"f": {"min": 3}}}`, "filter [f] has no [type]"},
		{`{"filter": {"f": {"type": "length", "min": -1}}}`, "filter [f]: parameter [min] is -1, want a whole number from 0 to any number"},
		{`{"filter": {"f": {"type": "shingle", "max_shingle_size": 5}}}`, "filter [f]: the difference of [max_shingle_size] and [min_shingle_size], and 1 if [output_unigrams] is set, is 4, more than 3"},
		{`{"filter": {"f": {"type": "shingle", "min_shingle_size": 3}}}`, "filter [f]: parameter [max_shingle_size] is 2, less than [min_shingle_size], 3"},
		{`{"filter": {"f": {"type": "keep"}}}`, "filter [f]: parameter [keep_words] is missing"},
		{`{"filter": {"f": {"type": "stemmer_override", "rules": ["a b"]}}}`, "filter [f]: parameter [rules] has [a b]: want words => stem"},
		{`{"filter": {"f": {"type": "length", "min": 3, "max": 2}}}`, "filter [f]: [min] is 3, more than [max], 2"},
		{`{"filter": {"f": {"type": "length", "mim": 3}}}`, "filter [f]: unknown parameter [mim], there are [max, min, type]"},
		{`{"filter": {"f": {"type": "stop", "stopwords": "_klingon_"}}}`, "filter [f]: parameter [stopwords] names the list [_klingon_]"},
		{`{"filter": {"f": {"type": "stop", "stopwords": [["a"]]}}}`, `filter [f]: parameter [stopwords] has ["a"], want texts`},
		{`{"filter": {"f": {"type": "stop", "stopwords_path": "x.txt"}}}`, "filter [f]: parameter [stopwords_path] names a file, which cannot be read here"},
		{`{"filter": {"f": {"type": "stop", "ignore_case": "yes"}}}`, `filter [f]: parameter [ignore_case] is "yes", want true or false`},
		{`{"filter": {"f": {"type": "stemmer", "language": "klingon"}}}`, "filter [f]: there is no stemmer [klingon], there are [arabic,"},
		{`{"filter": {"f": {"type": "snowball", "language": "Porter2"}}}`, "filter [f]: there is no Snowball stemmer [porter2], there are [English,"},
		{`{"filter": {"f": {"type": "synonym"}}}`, "filter [f]: parameter [synonyms] is missing"},
		{`{"filter": {"f": {"type": "synonym", "format": "wordnet", "synonyms": []}}}`, "filter [f]: parameter [format] is [wordnet], want one of [solr]"},
		{`{"filter": {"f": {"type": "synonym", "synonyms": ["a => b => c"]}}, "analyzer": {"a": {"tokenizer": "standard", "filter": "f"}}}`, "filter [f]: rule [a => b => c]: it has several =>"},
		{`{"filter": {"f": {"type": "synonym", "synonyms": ["a, , b"]}}, "analyzer": {"a": {"tokenizer": "standard", "filter": "f"}}}`, "filter [f]: rule [a, , b]: it has an empty phrase"},
		{`{"filter": {"f": {"type": "synonym", "synonyms": ["the, b"]}}, "analyzer": {"a": {"tokenizer": "standard", "filter": ["stop", "f"]}}}`, "filter [f]: rule [the, b]: the filters before make no term of [the]"},
		{`{"filter": {"f": {"type": "synonym", "synonyms": ["aB, b"]}}, "analyzer": {"a": {"tokenizer": "code", "filter": ["f"]}}}`, "filter [f]: rule [aB, b]: the filters before make several forms of a word of [aB]"},
		{`{"filter": {"f": {"type": "ngram", "min_gram": 3}}}`, ""},
		{`{"filter": {"f": {"type": "ngram", "min_gram": 3, "max_gram": 2}}}`, "filter [f]: [min_gram] is 3, more than [max_gram], 2"},
		{`{"filter": {"f": {"type": "ngram", "min_gram": 1, "max_gram": 100}}}`, "filter [f]: [max_gram] is 100 and [min_gram] is 1: the difference is at most 16"},
		{`{"filter": {"f": {"type": "cjk_bigram", "ignored_scripts": ["latin"]}}}`, "filter [f]: parameter [ignored_scripts] has [latin], there are [hangul, han, hiragana, katakana]"},
		{`{"filter": {"f": {"type": "word_delimiter", "type_table": ["ab => ALPHA"]}}}`, "filter [f]: parameter [type_table] has [ab => ALPHA], want"},
		{`{"tokenizer": {"t": {"type": "pattern", "pattern": "(?<=a)"}}}`, "tokenizer [t]: parameter [pattern] is [(?<=a)]: error parsing regexp"},
		{`{"tokenizer": {"t": {"type": "pattern", "group": 2}}}`, "tokenizer [t]: parameter [group] is 2, but the pattern has 0 groups"},
		{`{"tokenizer": {"t": {"type": "pattern", "flags": "COMMENTS"}}}`, "tokenizer [t]: parameter [flags] has [COMMENTS], there are"},
		{`{"tokenizer": {"t": {"type": "ngram", "token_chars": ["letters"]}}}`, "tokenizer [t]: parameter [token_chars] has [letters], there are"},
		{`{"tokenizer": {"t": {"type": "ngram", "token_chars": ["custom"]}}}`, "tokenizer [t]: parameter [custom_token_chars] is missing"},
		{`{"tokenizer": {"t": {"type": "path_hierarchy", "delimiter": "ab"}}}`, "tokenizer [t]: parameter [delimiter] is [ab], want one character"},
		{`{"tokenizer": {"t": {"type": "standard", "max_token_length": 300}}}`, "tokenizer [t]: parameter [max_token_length] is 300, want a whole number from 1 to 255"},
		{`{"char_filter": {"c": {"type": "mapping"}}}`, "char_filter [c]: parameter [mappings] is missing"},
		{`{"char_filter": {"c": {"type": "mapping", "mappings": ["a b"]}}}`, "char_filter [c]: mapping [a b] is not like [a => b]"},
		{`{"char_filter": {"c": {"type": "mapping", "mappings": ["a => b", "a => c"]}}}`, "char_filter [c]: [a] is mapped twice"},
		{`{"char_filter": {"c": {"type": "pattern_replace"}}}`, "char_filter [c]: parameter [pattern] is missing"},
		{`{"char_filter": {"c": {"type": "pattern_replace", "pattern": "a", "replacement": "$1"}}}`, "char_filter [c]: parameter [replacement] has $1, but the pattern has 0 groups"},
	} {
		_, err := ParseSettings([]byte(tc.settings), nil)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.settings, err)
			}
			continue
		}
		if err == nil || !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s:\n got %v\nwant %s", tc.settings, err, tc.want)
		}
	}
}

// Files become part of the settings, which then need them no more.
func TestSettingsFiles(t *testing.T) {
	files := func(name string) ([]byte, error) {
		if name != "words.txt" {
			return nil, os.ErrNotExist
		}
		return []byte("\ufeff# words\r\nOne\r\n\r\ntwo, three\r\n"), nil
	}
	const text = `{"analyzer": {"a": {"tokenizer": "whitespace", "filter": ["lowercase", "s", "k"]}},
		"filter": {"s": {"type": "synonym", "synonyms_path": "words.txt"}, "k": {"type": "stop", "stopwords_path": "words.txt"}}}`
	s, err := ParseSettings([]byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"analyzer":{"a":{"filter":["lowercase","s","k"],"tokenizer":"whitespace"}},"filter":{"k":{"stopwords":["One","two, three"],"type":"stop"},"s":{"synonyms":["One","two, three"],"type":"synonym"}}}`
	if string(encoded) != want {
		t.Errorf("encoded as\n%s, want\n%s", encoded, want)
	}
	var again Settings
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatal(err)
	}
	if !again.Equal(s) || again.Equal(nil) || !(*Settings)(nil).Equal(nil) {
		t.Error("settings differ after they were encoded")
	}
	if got := analyze(t, &again, Queries, "two One"); got != "two@0 three@0 one@1" {
		t.Errorf("got %s", got)
	}
	if _, err := ParseSettings([]byte(strings.ReplaceAll(text, "words.txt", "w")), files); err == nil || !strings.Contains(err.Error(), "parameter [stopwords_path]: w: file does not exist") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestSettingsNames(t *testing.T) {
	s := settingsOf(t, `{"type": "english"}`)
	if names := s.Names(); names[0] != "a" || len(names) != len(Names())+1 {
		t.Errorf("names are %q", names)
	}
	if !s.Has("a") || !s.Has("english") || s.Has("b") || !(*Settings)(nil).Has("code") {
		t.Error("Has is wrong")
	}
	if a := mustNew(t, s, "a", Documents); a.Name() != "a" {
		t.Errorf("a is named %q", a.Name())
	}
	if _, err := s.New("b", Queries); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), `"b" (there are: a, arabic`) {
		t.Errorf("New(b) = %v", err)
	}
}

func TestNewCustom(t *testing.T) {
	s := settingsOf(t, `{"type": "english"}`, `"filter": {"short": {"type": "length", "max": 3}}`)
	c := Custom{Tokenizer: json.RawMessage(`"whitespace"`), Filters: []json.RawMessage{json.RawMessage(`"lowercase"`), json.RawMessage(`"short"`), json.RawMessage(`{"type": "truncate", "length": 2}`)}}
	a, err := s.NewCustom(c, Documents)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(a.Tokens(nil, []byte("The quick FOX")), nil); got != "th@0 fo@2" {
		t.Errorf("got %s", got)
	}
	if _, err := (*Settings)(nil).NewCustom(c, Documents); err == nil || !strings.Contains(err.Error(), "filter [short]") {
		t.Errorf("without settings: %v", err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"analyzer": {"a": {"tokenizer": "standard", "filter": ["lowercase", "s"]}}, "filter": {"s": {"type": "synonym", "synonyms": ["a, b c => d"]}}}`), []byte("a b c"))
	f.Add([]byte(`{"analyzer": {"a": {"tokenizer": "code", "char_filter": ["html_strip", {"type": "mapping", "mappings": ["x => yy"]}]}}}`), []byte("<a>fooBar.x_1</a>"))
	f.Add([]byte(`{"normalizer": {"n": {"char_filter": [{"type": "mapping", "mappings": ["x => yy"]}], "filter": ["lowercase", "trim", "icu_folding"]}}}`), []byte(" xÉ "))
	for name := range filterKinds {
		f.Add([]byte(`{"analyzer": {"a": {"tokenizer": "whitespace", "filter": ["`+name+`"]}}}`), []byte("Wi-Fi é 日本語 the"))
	}
	for _, name := range tokenizerTypes {
		f.Add([]byte(`{"analyzer": {"a": {"tokenizer": "`+name+`", "filter": ["word_delimiter_graph", "cjk_bigram"]}}}`), []byte("/a/b https://x.y 日本語 aB_c1"))
	}
	f.Fuzz(func(t *testing.T, settings, text []byte) {
		if len(text) > 1<<10 {
			return
		}
		s, err := ParseSettings(settings, nil)
		if err != nil {
			if !errors.Is(err, base.ErrBadInput) {
				t.Fatal(err)
			}
			return
		}
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseSettings(encoded, nil)
		if err != nil || !again.Equal(s) {
			t.Fatalf("%s became %s: %v", settings, encoded, err)
		}
		for name := range s.normalizers {
			n, err := s.Normalizer(name)
			if err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(n.Normalize(text))
			if tokens := mustNew(t, s, NormalizerPrefix+name, Documents).Tokens(nil, text); len(tokens) > 1 || len(tokens) == 1 && !bytes.Equal(tokens[0].Term, want) {
				t.Fatalf("%s: %q: the analyzer has %s, the normalizer %q", encoded, text, show(tokens, nil), want)
			}
		}
		for name := range s.analyzers {
			for _, use := range []Use{Documents, Queries, Phrases} {
				a := mustNew(t, s, name, use)
				tokens := a.Tokens(nil, text)
				checkChainTokens(t, string(text), tokens, a)
				if _, err := Sections(tokens, arcsOf(a, tokens), 100); err != nil && !errors.Is(err, ErrTooManyPaths) {
					t.Fatal(err)
				}
				cold := mustNew(t, again, name, use)
				want := bytes.Clone([]byte(show(tokens, Arcs(a))))
				if got := show(cold.Tokens(nil, text), Arcs(cold)); got != string(want) {
					t.Fatalf("%s: %q: %s, then %s", encoded, text, want, got)
				}
			}
		}
	})
}
