package griffin

import (
	"testing"
	"time"
)

// ShortCalibration ends calibrations after a number of queries until the test ends.
func ShortCalibration(t *testing.T, queries int) {
	before := calibration
	t.Cleanup(func() { calibration = before })
	calibration.Limit, calibration.Queries = time.Hour, queries
}
