package footprint

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// AnonymousBytes returns the resident memory of this process that is not backed by a file, such
// as the mapped index, whose pages the system loads and evicts. ok is false where the system
// does not report it. It reads a small file in /proc, in microseconds.
func AnonymousBytes() (sizeBytes int64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	return anonymousBytes(string(status))
}

// anonymousBytes parses /proc/self/status.
func anonymousBytes(status string) (sizeBytes int64, ok bool) {
	for line := range strings.Lines(status) {
		value, is := strings.CutPrefix(line, "RssAnon:")
		if !is {
			continue
		}
		kib, is := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if !is {
			return 0, false
		}
		n, err := strconv.ParseInt(kib, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64>>10 {
			return 0, false
		}
		return n << 10, true
	}
	return 0, false
}
