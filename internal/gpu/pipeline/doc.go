// Package pipeline decides what lies in the memory of the GPUs and runs flat
// queries on it.
//
// An Engine opens devices and keeps posting lists on them, as images of package
// fastpath or compressed. Attach tells it of the segments of a commit and gives a View;
// View.Run answers queries over it, one or many at a time, with the identical answer that
// the CPU gives; View.Intersect takes a step of a conjunction, from candidates to
// candidates; View.Locate says where the lists of a query are. Lists that a query needs
// and that are not there are brought: as compressed bytes through page-locked memory, and
// for images decoded by the device where package decode can, else by the CPU. They stay
// as long as nothing of greater benefit per byte needs the place (cache). View.Warm brings
// a whole index beforehand.
//
// It is not for what only the CPU can answer (phrases, trees, filters by words):
// package exec knows which queries these are. It does not read dictionaries or
// compute weights.
//
// # What runs where
//
// A device has lanes, each with a stream and the memory of a batch, so that several
// runs compute at the same time, and an uploader with a stream of its own: while it
// brings lists for one lane, the others compute. A list is brought by one lane only;
// others that want it wait. A run takes a lane, pins the lists of its queries, brings
// those that are not there, waits (on the device) for those that are on their way, and
// launches.
//
// If the lists of a batch do not fit into memory together, it is answered in parts, as
// many at a time as there are lanes: while some compute, the lists of others are brought.
// Queries that share long lists come in the same part or one after the other (parts), and
// Others, CPUs in package exec, answer those that the devices do not get to. Lists that
// are brought again come from page-locked memory (hostMemory), without the CPU.
//
// # Where lists lie
//
// A list may be in several forms at the same time (record), of which each memory keeps
// what is worth most there (gain.go):
//
//	kind           memory               size             who reads it
//	kindImage      device               9 times          package fastpath
//	kindPacked     device               as in the index  package direct
//	kindDirectory  device               8 per cent       package direct, if the list is kindHost only
//	kindHost       page-locked, mapped  as in the index  package direct; uploaders
//
// As long as the images that a query lacks have room, it is answered by them. Else it is
// answered by package direct (PathAuto): its lists are copied from the index's file to
// page-locked memory, once, and read there over the bus; beside the queries, those that are
// worth the device's memory by now are copied there, or their directories are (promoter). Images
// are then for batches only. Lists that package direct cannot read, of another codec than
// simdbp or of impacts, are always used as images; so are all where several devices share
// the segments, since a compressed list cannot be cut at a document.
//
// With several devices each holds a range of the DocIDs of every segment; the
// results are merged in the total order. Each decodes whole lists and takes its range:
// the package's one kernel, pipeline_rebase, makes the DocIDs of a segment those of the
// range (a thread a DocID, blocks of 256, no shared memory; reference: source.next).
//
// # Failure
//
// No error of a device reaches a user: a query that a device could not answer has
// Result.Err, and the CPU answers it. Memory that runs out ends with that query. A
// device that is lost, or whose kernels die, is not used again; the Engine then
// answers nothing, as each device holds a part of every segment.
//
// A panic, which is a bug, goes on where the run was asked for, from whatever goroutine. By
// then the run has given back its lane, its lists and the memory of what it was bringing. One of
// the promoter is logged, and nothing is promoted any more.
//
// # Concurrency
//
// An Engine and a View are safe for concurrent use. A Query may be run by several
// goroutines; a Result and a Step belong to one run. On lists that are there a run
// allocates no Go memory, nor any of the device, and takes no lock for longer than a
// look-up.
package pipeline
