package imagesearch

import (
	"flag"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

var update = flag.Bool("update", false, "write constants.cuh")

func TestConstants(t *testing.T) {
	gputest.CheckConstants(t, *update, "imagesearch", []gputest.Constant{
		{Name: "kRangeDocs", Value: rangeDocs},
		{Name: "kSuperRanges", Value: superRanges},
		{Name: "kSuperDocs", Value: superDocs},
		{Name: "kLayoutUnit", Value: layoutUnit},
		{Name: "kFreqEscape", Value: freqEscape},
		{Name: "kNumBuckets", Value: numBuckets},
		{Name: "kWarpSums", Value: warpSums},
		{Name: "kFlagAll", Value: flagAll},
		{Name: "kFlagProbe", Value: flagProbe},
		{Name: "kMinPackedShift", Value: minPackedShift},
		{Name: "kExcludedShift", Value: excludedShift},
		{Name: "kMaxClauses", Value: MaxClauses},
		{Name: "kMaxOneTerms", Value: maxOneTerms},
		{Name: "kMaxFewTerms", Value: maxFewTerms},
		{Name: "kAnswerHead", Value: answerHead},
		{Name: "kMailWords", Value: mailWords},
		{Name: "kCommandParams", Value: commandParams},
		{Name: "kFirstList", Value: firstList},
		{Name: "kListRoom", Value: listRoom},
		{Name: "kNumWarps", Value: threads / 32},
		{Name: "kInFlight", Value: inFlight},
		{Name: "kUnitRanges", Value: unitRanges},
		{Name: "kOpenHits", Value: openHits},
		{Name: "kSentHits", Value: sentHits},
		{Name: "kMaxTallyTerms", Value: maxTallyTerms},
		{Name: "kTallyThreads", Value: tallyThreads},
		{Name: "kTallyUnits", Value: tallyUnits},
		{Name: "kDigitBits", Value: digitBits},
		{Name: "kSparse", Value: int(sparse)},
		{Name: "kBounded", Value: int(bounded)},
		{Name: "kPacked", Value: int(packed)},
		{Name: "kDense", Value: int(dense)},
		{Name: "kFillThreads", Value: fillThreads},
		{Name: "kMaxBandSupers", Value: maxBandSupers},
	})
}
