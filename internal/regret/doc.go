// Package regret compares the policies of package dispatch with an oracle,
// which runs each query on the best processors in hindsight. The regret of a
// policy is its time in excess of the oracle's.
//
// [Measure] runs passes over a query log: one for each policy and, for the
// oracle, one for each placement of a query's steps. Several rounds repeat all
// passes, so that temporary disturbances affect all alike. Answers of all
// passes must be equal. A query's time includes planning and execution until
// its hits are in the caller's memory. Results use the median over the rounds,
// classes the minimum.
//
// The minimum of many noisy times is biased low. The oracle therefore selects a
// query's placement by the even rounds and takes its time from the odd ones;
// regrets use the odd rounds of the policies, too. Policies are among the
// oracle's choices. A policy with its own GPU memory also runs with the
// oracle's memory, and its regret uses these runs, so that cache contents do
// not count for it. For the same reason, each pass in the oracle's memory is
// preceded by the whole log on the GPU. Noise can make the oracle choose
// wrongly, which makes regrets too small. A second regret compares with the
// minimum of the odd rounds, which makes it too large.
//
// [Measured.Report] computes percentiles, speed-ups, and each policy's worst
// class of queries by number of terms, shortest list, and ratio of the two
// shortest lists (the groups of griffin18, PPoPP 2018, §3.2).
//
// Queries run one at a time; for load see package load and sched/simulation. A
// Measured is not safe for concurrent use.
package regret
