// Package trec reads and writes the files of the Text REtrieval Conference and
// computes its measures: topics in, run files out, and what trec_eval would say
// of a run given relevance judgements (qrels).
//
//   - [ReadTopics] reads TSV, BEIR JSON lines, classic TREC topics and the
//     XML-like topics of the web tracks, told apart by their first line.
//   - [ReadQrels] reads TREC qrels and BEIR's TSV qrels into [Qrels].
//   - [ReadRun] and [RunWriter] read and write run files; a [Run] can also be
//     filled in memory.
//   - [Evaluate] computes [Measure] values of a [Run] query by query and over
//     all queries as trec_eval 9.0 defines them; [Compare] tests whether two
//     evaluations differ.
//
// It knows nothing of indexes and searches, opens no files and does not
// decompress: everything is read from an io.Reader and written to an io.Writer.
// The parsers reject what they cannot read with a [SyntaxError] that carries
// the line; they never skip a line in silence, except blank lines and, in qrels
// and runs, lines that begin with '#'.
//
// # What trec_eval does, and so this package
//
// These rules surprise people, so they stand here together:
//
//   - The rank column of a run is ignored. Documents are ordered by score
//     descending; scores are compared as 32-bit floats; ties go to the
//     lexicographically (bytewise) larger document number. See [RunWriter] for
//     how a run is written so that this order is the searcher's.
//   - A query counts if it is in the run and in the qrels. A query of the qrels
//     with no relevant document counts too, with 0 for every measure. A query of
//     the run without judgements is ignored.
//   - With [Options].Complete (trec_eval -c) the means are over all queries of
//     the qrels: one that the run does not answer counts 0. BEIR's published
//     nDCG@10 and Recall@100 are of this kind, so a query without results
//     lowers them.
//   - An unjudged document is not relevant. A negative judgement is as if
//     unjudged, except that bpref passes over both.
//   - ndcg and ndcg_cut use the judgement as gain and log2(rank+1) as discount,
//     and the ideal ranking is over all positive judgements whatever
//     RelevanceLevel is.
//
// Values of this package may be read by several goroutines at once; a [Run]
// being filled and a [RunWriter] belong to one.
package trec
