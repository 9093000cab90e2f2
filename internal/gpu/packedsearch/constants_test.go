package packedsearch

import (
	"flag"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

var update = flag.Bool("update", false, "write constants.cuh")

func TestConstants(t *testing.T) {
	gputest.CheckConstants(t, *update, "packedsearch", []gputest.Constant{
		{Name: "kThreads", Value: threads},
		{Name: "kNumWarps", Value: threads / 32},
		{Name: "kMinBlocks", Value: minBlocks},
		{Name: "kMaxLists", Value: MaxLists},
		{Name: "kRangeDocs", Value: rangeDocs},
		{Name: "kChunk", Value: chunk},
		{Name: "kMaxGroup", Value: maxGroup},
		{Name: "kPending", Value: pending},
		{Name: "kInFlight", Value: inFlight},
		{Name: "kNumBuckets", Value: numBuckets},
		{Name: "kFlagCount", Value: flagCount},
		{Name: "kFlagScore", Value: flagScore},
	})
}
