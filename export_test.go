package griffin

import (
	"testing"
	"time"
)

// ShortCalibration has calibrations end after so many queries, not after a time, until
// the test ends.
func ShortCalibration(t *testing.T, queries int) {
	before := calibration
	t.Cleanup(func() { calibration = before })
	calibration.Limit, calibration.Queries = time.Hour, queries
}
