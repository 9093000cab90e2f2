package rest

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin"
)

// Refused writes are logged at most every 10 seconds for each index.
func TestRefusalsAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		a, b := &Index{name: "a"}, &Index{name: "b"}
		for range 100 {
			a.logRefusal(log, griffin.ErrFull)
			time.Sleep(250 * time.Millisecond)
		}
		b.logRefusal(log, griffin.ErrReadOnly)
		if n, m := strings.Count(out.String(), "index=a"), strings.Count(out.String(), "index=b"); n != 3 || m != 1 {
			t.Errorf("%d and %d lines in 25 s, want 3 and 1:\n%s", n, m, &out)
		}
		if !strings.Contains(out.String(), "free space on it") {
			t.Errorf("the log does not say what to do:\n%s", &out)
		}
	})
}
