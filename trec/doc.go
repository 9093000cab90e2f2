// Package trec reads and writes the files of the Text REtrieval Conference and computes the
// measures of trec_eval: topics, run files, relevance judgements (qrels).
//
//   - [ReadTopics] reads TSV, BEIR JSON lines, classic TREC topics and the
//     XML-like topics of the web tracks, distinguished by their first line.
//   - [ReadQrels] reads TREC qrels and BEIR's TSV qrels into [Qrels].
//   - [ReadRun] and [RunWriter] read and write run files; a [Run] can also be
//     filled in memory.
//   - [Evaluate] computes [Measure] values of a [Run] query by query and over
//     all queries as trec_eval 9.0 defines them; [Compare] tests whether two
//     evaluations differ.
//
// It does not depend on indexes and searches, opens no files and does not decompress: it
// reads from an io.Reader and writes to an io.Writer. The parsers reject invalid input with
// a [SyntaxError] that has the line number. They skip only blank lines and, in qrels and
// runs, lines that begin with '#'.
//
// # Rules of trec_eval
//
// This package follows these rules, some of which are surprising:
//
//   - The rank column of a run is ignored. Documents are ordered by score descending;
//     scores are compared as 32-bit floats; ties go to the lexicographically (bytewise)
//     larger document number. [RunWriter] writes a run so that this order equals the
//     searcher's.
//   - A query counts if it is in the run and in the qrels. A query of the qrels without a
//     relevant document also counts, with 0 for every measure. A query of the run without
//     judgements is ignored.
//   - With [Options].Complete (trec_eval -c) the means are over all queries of the qrels; a
//     query that the run does not answer counts 0. BEIR's published nDCG@10 and Recall@100
//     are of this kind, so a query without results lowers them.
//   - An unjudged document is not relevant. A negative judgement counts as unjudged, except
//     that bpref ignores both.
//   - ndcg and ndcg_cut use the judgement as gain and log2(rank+1) as discount. The ideal
//     ranking is over all positive judgements for any RelevanceLevel.
//
// Values of this package are safe for concurrent reads. A [Run] that is being filled and a
// [RunWriter] are not safe for concurrent use.
package trec
