package codec_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

func TestGuideIsComplete(t *testing.T) {
	text, err := os.ReadFile("../docs/guides/codecs.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(text), "\n| codec | parameter |")
	if len(rows) != 2 {
		t.Fatal("the guide has no table of parameters")
	}
	for _, name := range codec.Names() {
		if !strings.Contains(rows[0], "`"+name+"`") {
			t.Errorf("the guide does not mention %s", name)
		}
		parameters := codec.Parameters(name)
		for _, p := range regexp.MustCompile(`(\w+)=([\w.]+) \(`).FindAllStringSubmatch(parameters, -1) {
			if !documented(rows[1], name, p[1], p[2]) {
				t.Errorf("the guide does not document %s: %s=%s", name, p[1], p[2])
			}
		}
	}
}

func documented(table, name, parameter, def string) bool {
	ours := false
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 5 {
			continue
		}
		if codecs := strings.TrimSpace(cells[1]); codecs != "" {
			ours = strings.Contains(codecs, "`"+name+"`")
		}
		if ours && strings.TrimSpace(cells[2]) == "`"+parameter+"=`" && strings.TrimSpace(cells[3]) == def {
			return true
		}
	}
	return false
}
