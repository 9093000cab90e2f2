package analysis

import (
	"strings"
	"testing"
)

func termsOf(t *testing.T, analyzer, text string) string {
	t.Helper()
	a, err := New(analyzer)
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	for _, token := range a.Tokens(nil, []byte(text)) {
		terms = append(terms, string(token.Term))
	}
	return strings.Join(terms, " ")
}

// Stems are Snowball's published ones, where they exist.
func TestChains(t *testing.T) {
	for _, tc := range []struct{ analyzer, text, want string }{
		{"english", "The quick brown foxes' tails aren't John's; they're Jess’s or Sue＇S.", "quick brown fox tail aren't john they'r jess sue"},
		{"english", "It's that's IS'S s a's", "s"},
		{"english", "U.S.A. U.S. e-mail C++ 3.14 1,000,000 COVID-19 foo_bar http://example.com/x", "u.s.a u. e mail c 3.14 1,000,000 covid 19 foo_bar http example.com x"},
		{"english", "ÉCOLE İstanbul ẞ ΌΣΟΣ naïveté", "école istanbul ß όσοσ naïveté"},
		{"english", "possibly generously skies dying news", "possibl gener ski dy new"},
		{"english-porter2", "possibly generously skies dying news", "possibl generous sky die news"},
		{"english-porter2", "The runner's running to it's", "runner run"},
		{"simple", "The U.S.A. can't e-mail 3.14 ÉCOLE foo_bar dog's", "the u s a can t e mail 3 14 école foo bar dog s"},
		{"simple", "２０１５ Ⅷ ½ x² e\u0301te\u0301", "２０１５ x e te"},
		{"simple", "日本語 カタカナ ไทย", "日本語 カタカナ ไทย"},
		{"simple", strings.Repeat("x", 40) + " " + strings.Repeat("y", 41) + " z", strings.Repeat("x", 40) + " z"},
		{"simple", strings.Repeat("Ⱥ", 13) + " " + strings.Repeat("Ⱥ", 14) + " z", strings.Repeat("ⱥ", 13) + " z"},
		{"whitespace", " The\tdog's\n##ing [unused1] x\u00a0y\u3000z a\xffb ", "The dog's ##ing [unused1] x y z a b"},
		{"whitespace", strings.Repeat("x", 256), strings.Repeat("x", 255) + " x"},
		{"whitespace", strings.Repeat("é", 128), strings.Repeat("é", 127) + " é"},
		{"whitespace", "\xef\xbf\xbd\x00", "\xef\xbf\xbd\x00"},
		{"arabic", "الكتاب", "كتاب"},
		{"danish", "undersøgelserne bilernes", "undersøg bil"},
		{"dutch", "lichamelijkheden opgingen", "licham opging"},
		{"finnish", "taloissamme kirjoista", "talo kirj"},
		{"french", "L'avion qu’il d'Artagnan aujourd'hui continuellement chevaux O'Connor", "avion il artagnan aujourd'hui continuel cheval o'connor"},
		{"german", "Häuser aufeinanderschlügen Straße", "haus aufeinanderschlug strass"},
		{"hungarian", "házakban könyveket", "ház könyv"},
		{"irish", "d'fhág m'athair", "fág athair"},
		{"italian", "dell'università l’amica abbandonata", "univers amic abbandon"},
		{"norwegian", "havnedistriktene opplysningene", "havnedistrikt opplysning"},
		{"portuguese", "quilométricas boiando", "quilométr boi"},
		{"romanian", "abruptului copiilor", "abrupt cop"},
		{"russian", "Вагонами в важнейшие книги", "вагон в важн книг"},
		{"spanish", "chicharrones torneados", "chicharron torn"},
		{"swedish", "klostergården jaktkarlarne", "klostergård jaktkarl"},
		{"tamil", "புத்தகங்கள்", "புத்தகம்"},
		{"turkish", "İstanbul'da IŞIK kitaplarımızdan", "istanbul ışık kitap"},
	} {
		if got := termsOf(t, tc.analyzer, tc.text); got != tc.want {
			t.Errorf("%s: terms of %q:\n got %s\nwant %s", tc.analyzer, tc.text, got, tc.want)
		}
	}
}
