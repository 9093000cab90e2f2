package footprint

import (
	"os"
	"runtime"
	"testing"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name, status string
		want         int64
		ok           bool
	}{
		{"as Linux writes it", "Name:\tgriffin\nVmRSS:\t   99000 kB\nRssAnon:\t    5120 kB\nRssFile:\t   93880 kB\n", 5120 << 10, true},
		{"nothing", "RssAnon:\t       0 kB\n", 0, true},
		{"no such line", "VmRSS:\t   99000 kB\n", 0, false},
		{"empty", "", 0, false},
		{"no number", "RssAnon:\t much kB\n", 0, false},
		{"no unit", "RssAnon:\t 5120\n", 0, false},
		{"another unit", "RssAnon:\t 5120 MB\n", 0, false},
		{"negative", "RssAnon:\t -1 kB\n", 0, false},
		{"too large", "RssAnon:\t 9223372036854775807 kB\n", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, ok := anonymousBytes(c.status); n != c.want || ok != c.ok {
				t.Errorf("%s: %d, %t, want %d, %t", c.name, n, ok, c.want, c.ok)
			}
		})
	}
}

// Written memory counts.
func TestAnonymousBytes(t *testing.T) {
	const size = 4 << 20
	own := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		own[i] = 1
	}
	n, ok := AnonymousBytes()
	runtime.KeepAlive(own)
	if want := runtime.GOOS == "linux"; ok != want {
		t.Fatalf("ok is %t, want %t", ok, want)
	}
	if ok && n < size {
		t.Errorf("%d bytes in use, of which %d have just been written", n, size)
	}
}
