package simd

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Level is a set of instructions. Each includes PureGo, and AVX512 includes AVX2.
type Level uint32

const (
	// PureGo uses no assembly.
	PureGo Level = iota
	// AVX2 is AVX2 with BMI1, BMI2, FMA and POPCNT: x86-64-v3, about 2013 and later.
	AVX2
	// AVX512 is AVX-512 F, BW, CD, DQ, VL, VBMI, VBMI2, BITALG and VPOPCNTDQ: Intel
	// Ice Lake (2019), AMD Zen 4 (2022) and later.
	AVX512
	// NEON is Advanced SIMD, which every arm64 processor has.
	NEON
)

// Variable is the environment variable that lowers the level: none, avx2, avx512 or neon.
const Variable = "GRIFFIN_SIMD"

var levelNames = [...]string{PureGo: "none", AVX2: "avx2", AVX512: "avx512", NEON: "neon"}

// String returns the level's name in Variable.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint32(l))
}

// The greatest level that both include.
func common(a, b Level) Level {
	if a != b && (a == NEON || b == NEON) {
		return PureGo
	}
	return min(a, b)
}

var current atomic.Uint32

func init() {
	l, _ := choose(Detected(), os.Getenv(Variable))
	current.Store(uint32(l))
}

// The greatest level that best and the named one include; best if name is empty or unknown.
func choose(best Level, name string) (Level, error) {
	if name == "" {
		return best, nil
	}
	for l, n := range levelNames {
		if n == name {
			return common(Level(l), best), nil
		}
	}
	return best, fmt.Errorf("%s=%q: want one of %q", Variable, name, levelNames)
}

// Check returns an error if Variable has an unknown value, otherwise ignored.
func Check() error {
	_, err := choose(Detected(), os.Getenv(Variable))
	return err
}

// Current returns the kernels' level, at the cost of a load.
func Current() Level { return Level(current.Load()) }

// Levels returns the process's levels, PureGo first and Detected last.
func Levels() []Level {
	var levels []Level
	for l := range Level(len(levelNames)) {
		if common(l, Detected()) == l {
			levels = append(levels, l)
		}
	}
	return levels
}

// Set makes kernels use a level, or the greatest that it and Detected include, and returns the previous one, for tests and
// comparisons (simdtest.Set).
func Set(l Level) (before Level) { return Level(current.Swap(uint32(common(l, Detected())))) }
