package direct

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write constants.cuh")

// constants.cuh says what this package's constants say.
func TestConstants(t *testing.T) {
	var b strings.Builder
	b.WriteString("/* Made by go generate from the constants of package direct. */\n#pragma once\n\n")
	for _, c := range []struct {
		name  string
		value int
	}{
		{"kThreads", threads},
		{"kNumWarps", threads / 32},
		{"kMinBlocks", minBlocks},
		{"kMaxLists", MaxLists},
		{"kRangeDocs", rangeDocs},
		{"kChunk", chunk},
		{"kMaxGroup", maxGroup},
		{"kPending", pending},
		{"kInFlight", inFlight},
		{"kNumBuckets", numBuckets},
		{"kFlagCount", flagCount},
		{"kFlagScore", flagScore},
	} {
		fmt.Fprintf(&b, "constexpr uint32_t %s = %d;\n", c.name, c.value)
	}
	const name = "constants.cuh"
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what the constants say: go generate", name)
	}
}
