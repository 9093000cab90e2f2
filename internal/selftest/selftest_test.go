package selftest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/selftest"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "child" {
		os.Stdout.WriteString(os.Args[1])
		return
	}
	os.Exit(m.Run())
}

func TestStarts(t *testing.T) {
	link := filepath.Join(t.TempDir(), "child")
	selftest.Link(t, link, "child")
	linked := exec.Command(link, "one word")
	linked.Args[0] = "child"
	for _, cmd := range []*exec.Cmd{selftest.Command(t, "child", "one word"), linked} {
		if out, err := cmd.CombinedOutput(); string(out) != "one word" || err != nil {
			t.Errorf("%v: %q, %v", cmd, out, err)
		}
	}
}
