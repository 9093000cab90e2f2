/* Made by go generate from the constants of package imagesearch. */
#pragma once

constexpr uint32_t kRangeDocs = 32;
constexpr uint32_t kSuperRanges = 128;
constexpr uint32_t kSuperDocs = 4096;
constexpr uint32_t kLayoutUnit = 128;
constexpr uint32_t kFreqEscape = 255;
constexpr uint32_t kNumBuckets = 256;
constexpr uint32_t kWarpSums = 128;
constexpr uint32_t kFlagAll = 1;
constexpr uint32_t kFlagProbe = 2;
constexpr uint32_t kMinPackedShift = 6;
constexpr uint32_t kExcludedShift = 8;
constexpr uint32_t kMaxClauses = 30;
constexpr uint32_t kMaxOneTerms = 30;
constexpr uint32_t kMaxFewTerms = 8;
constexpr uint32_t kAnswerHead = 5;
constexpr uint32_t kMailWords = 320;
constexpr uint32_t kCommandParams = 4;
constexpr uint32_t kFirstList = 256;
constexpr uint32_t kListRoom = 512;
constexpr uint32_t kNumWarps = 8;
constexpr uint32_t kInFlight = 4;
constexpr uint32_t kUnitRanges = 32;
constexpr uint32_t kOpenHits = 128;
constexpr uint32_t kSentHits = 32;
constexpr uint32_t kMaxTallyTerms = 96;
constexpr uint32_t kTallyThreads = 1024;
constexpr uint32_t kTallyUnits = 6;
constexpr uint32_t kDigitBits = 12;
constexpr uint32_t kSparse = 0;
constexpr uint32_t kBounded = 1;
constexpr uint32_t kPacked = 2;
constexpr uint32_t kDense = 3;
constexpr uint32_t kFillThreads = 128;
constexpr uint32_t kMaxBandSupers = 48;
