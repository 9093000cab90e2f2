// Package contraction finds elements of strictly increasing sequences in fewer steps than a
// binary search over the whole sequence, by contracting the search range:
//
//   - [SafeRange]: a line fitted to the sequence, with the maximum deviations of elements
//     to the left and right of it (linear regression, LR). [LocalRange] does this for each
//     of several segments.
//   - [Buckets]: a table from the leading bits of a value to the first element with these
//     bits (hash segmentation, HS16 to HS256).
//   - [Interpolate]: interpolation search, which stores nothing.
//
// [Binary] then searches the contracted range. [Counted] runs any of these searches and
// counts comparisons and memory accesses. All results are exact: a range contains the
// position for any sequence. Arithmetic is in integers or in single IEEE operations, so a
// range is the same on every machine.
//
// [Measure] returns the linearity of a sequence, [DeviationBound] the deviation of a random
// sequence from its line.
//
// Ao, Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists intersection and
// index compression algorithms using graphics processing units", PVLDB 4(8), 2011, §4.3,
// §4.4 and Appendix E. The sequences are DocIDs of a list, or first DocIDs of its blocks;
// the package does not depend on either.
//
// Measured by BenchmarkSearch (1,048,576 values with uniform gaps below 41, one thread of a
// busy 2-core Zen 5 machine), in nanoseconds per search: binary 161, interpolation 53, safe
// range 68, local safe range 83 in 64 segments, hash buckets 34 (HS16), 37, 45, 54 and 58
// (HS256).
//
// Values are immutable and safe for concurrent use.
package contraction
