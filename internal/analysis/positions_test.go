package analysis

import (
	"fmt"
	"testing"
)

// A query for a split word is a phrase. A stop word within it leaves a gap of one position.
func TestSplitWordsHaveConsecutivePositions(t *testing.T) {
	for _, c := range []struct{ analyzer, text, want string }{
		{"simple", "a state-of-the-art engine", "a@0 state@1 of@2 the@3 art@4 engine@5"},
		{"english", "a state-of-the-art engine", "state@1 art@4 engin@5"},
		{"simple", "北京大学", "北京大学@0"}, // not split
		{"english", "北京大学", "北@0 京@1 大@2 学@3"},
		{"english", "x 北京 y", "x@0 北@1 京@2 y@3"},
		{"english", "カタカナ ひらがな", "カタカナ@0 ひ@1 ら@2 が@3 な@4"},
		{"simple", "wi-fi a/b c++", "wi@0 fi@1 a@2 b@3 c@4"},
		{"english", "don't node.js foo_bar", "don't@0 node.j@1 foo_bar@2"},
		{"whitespace", "state-of-the-art 北京", "state-of-the-art@0 北京@1"},
	} {
		t.Run(c.analyzer+"/"+c.text, func(t *testing.T) {
			a, err := New(c.analyzer)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, token := range a.Tokens(nil, []byte(c.text)) {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("%s@%d", token.Term, token.Position)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
