package mapping

import (
	"fmt"
	"strconv"
	"strings"
)

var durationUnits = []struct {
	name   string
	millis int64
}{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"d", 86_400_000}}

// ParseDuration reads a time such as "90m" or "-6h", in milliseconds.
func ParseDuration(text string) (int64, error) {
	for _, u := range durationUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		const most = 1 << 40
		if err != nil || n > most || n < -most {
			continue // "ms" ends with "s"
		}
		return n * u.millis, nil
	}
	return 0, fmt.Errorf("%q is not a time such as 30m or 1d", text)
}
