// Package regret measures what the policies of package exec are worth: a query log is
// answered under each of them, and by the best processor for each step in hindsight, the
// oracle. What a policy takes more than the oracle is its regret.
//
// [Measure] runs passes over the log: one after the other under each policy and, for the
// oracle, with each placement of a query's steps, several rounds of all of them, so that
// what disturbs the machine for a while disturbs all. Every answer of a pass is
// compared with the first one. The time of a query is planning and running it, until its best k are in the
// caller's memory; of its rounds the median counts, and in classes the least.
//
// The least of many noisy times is too small. So the oracle chooses a query's
// placement by the even rounds, and what it takes is told by the odd ones; for its
// regret the policies are measured by the odd rounds, too. The policies themselves are
// among what it may choose, each as a placement; those that have GPU memory of their own are
// run with the oracle's, too, and their regret is of these runs: what lies in a cache is no
// merit of a policy. So that it is none of a placement either, all of the log is answered on the
// GPU before each pass there. Where noise makes the oracle choose wrongly it takes
// too much, and regrets are too small; so they are told as well against the least that the odd
// rounds measured, which is too little.
//
// [Measured.Report] gives percentiles, speed-ups, and the worst class of queries of
// each policy: by number of terms, by the shortest list, and by the ratio of the two
// shortest (the groups of griffin18, PPoPP 2018, §3.2).
//
// It is not for load: queries come one at a time (package load does that, and
// sched/simulation on paper). A Measured belongs to one goroutine.
package regret
