/* Made by go generate from the constants of package packedsearch. */
#pragma once

constexpr uint32_t kThreads = 256;
constexpr uint32_t kNumWarps = 8;
constexpr uint32_t kMinBlocks = 4;
constexpr uint32_t kMaxLists = 40;
constexpr uint32_t kRangeDocs = 8192;
constexpr uint32_t kChunk = 8;
constexpr uint32_t kMaxGroup = 512;
constexpr uint32_t kPending = 4;
constexpr uint32_t kInFlight = 4;
constexpr uint32_t kNumBuckets = 256;
constexpr uint32_t kFlagCount = 1;
constexpr uint32_t kFlagScore = 2;
