package analysis

import "testing"

// Filters that depend on others of the chain.
func TestFiltersTogether(t *testing.T) {
	for _, c := range []struct{ filters, text, want string }{
		{`["keyword_repeat", "porter_stem"]`, "running cats run", "running@0 run@0 cats@1 cat@1 run@2"},
		{`["keyword_repeat", "porter_stem", "remove_duplicates"]`, "run", "run@0"},
		{`[{"type": "stemmer_override", "rules": ["running, runs => jog"]}, "porter_stem"]`, "running runs cats", "jog@0 jog@1 cat@2"},
		{`[{"type": "stemmer_override", "rules": ["runs => jog", "runs, cats => hop"]}]`, "runs cats", "jog@0 hop@1"},
		{`[{"type": "stemmer_override", "rules": "RUNNING => Jogging", "ignore_case": true}, "lowercase", "porter_stem"]`, "Running jogging", "jogging@0 jog@1"},
		{`["stop", {"type": "shingle", "max_shingle_size": 3}]`, "please divide the sentence", "please@0 please divide@0 please divide _@0 divide@1 divide _@1 divide _ sentence@1 _ sentence@2 sentence@3"},
		{`["stop", {"type": "shingle"}]`, "the a of cat", "_ cat@0 cat@1"},
		{`["stop", {"type": "shingle", "output_unigrams": false, "filler_token": ""}]`, "cat of the dog", "cat @0  dog@1"},
		{`["lowercase", "fingerprint"]`, "Zeta alpha ZETA", "alpha zeta@0"},
	} {
		s := settingsOf(t, `{"type": "custom", "tokenizer": "whitespace", "filter": `+c.filters+`}`)
		a := mustNew(t, s, "a", Documents)
		for range 2 {
			if got := show(a.Tokens(nil, []byte(c.text)), Arcs(a)); got != c.want {
				t.Errorf("%s of %q: %s, want %s", c.filters, c.text, got, c.want)
			}
		}
	}
}
