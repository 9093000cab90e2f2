// Package trec reads and writes topics, run files and relevance judgements (qrels) of the Text
// REtrieval Conference and computes trec_eval's measures.
//
//   - [ReadTopics] reads TSV, BEIR JSON lines, classic TREC topics and the web tracks'
//     XML-like ones, distinguished by the first line.
//   - [ReadQrels] reads TREC qrels and BEIR's TSV qrels into [Qrels].
//   - [ReadRun] and [RunWriter] read and write run files.
//   - [Evaluate] computes [Measure] values of a [Run] as trec_eval 9.0 defines them;
//     [Compare] tests whether two evaluations differ.
//
// It opens no files and does not decompress. Invalid input is a [SyntaxError] with the line
// number; only blank lines and, in qrels and runs, lines that begin with '#' are skipped.
//
// # Rules of trec_eval
//
//   - A run's rank column is ignored. Documents are ordered by score descending, as 32-bit
//     floats; ties go to the bytewise larger document number. [RunWriter] writes scores so
//     that this order is the searcher's.
//   - A query counts if it is in run and qrels; without a relevant document it counts 0 for
//     every measure. A query without judgements is ignored.
//   - With [Options].Complete (trec_eval -c) all queries of the qrels count, unanswered ones
//     0. BEIR's published nDCG@10 and Recall@100 are of this kind.
//   - An unjudged document is not relevant. A negative judgement counts as unjudged (bpref
//     ignores both).
//   - ndcg and ndcg_cut use the judgement as gain and log2(rank+1) as discount; the ideal
//     ranking is over all positive judgements for any RelevanceLevel.
//
// Values are safe for concurrent reads; a [Run] being filled and a [RunWriter] are not safe for
// concurrent use.
package trec
