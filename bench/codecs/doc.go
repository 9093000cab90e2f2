// Codecs measures every codec of package codec: how fast it decodes blocks that
// are in the cache, by width of the values and level of vector instructions, and how
// many bits a posting takes in the lists of an index. It writes the result as JSON
// and as the tables of docs/benchmarks/codecs.md.
//
//	go run ./bench/codecs -index INDEX -json codecs.json -markdown codecs.md
//
// # What is measured
//
// Synthetic blocks have gaps (less one) and frequencies (less one) that are uniform
// below 2^width. Without -widths they are decoded at widths of 1 to 16, 20 and 24
// bits: 32 blocks of 128 values, different ones, in 2 lists, one after another. Lists
// are those of the index with -index: 32 stretches of 16 full blocks, spread evenly
// over its postings, so that most of them come from long lists, as in queries. All
// of them are decoded in turn, so that branches are not learned from one block, and
// stay in the cache.
//
// A pass over the blocks takes some microseconds; the least time of many passes
// counts, for on a machine that is shared, others only add. The speed is that of one
// core, through the methods of the codec, checks included.
//
// Codecs that encode a list as a whole (codec.ListCodec) are asked for blocks by
// DecodeBlock in the tables, and for whole lists by DecodeList in one of their own.
//
// Sizes are those of all lists of the index, each encoded anew: DocIDs and
// frequencies, without directories, bounds and positions.
package main
