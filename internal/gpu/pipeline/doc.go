// Package pipeline runs flat queries on GPUs, on the posting lists that package residency keeps
// there.
//
// An Engine opens devices; Attach makes a View of the segments of a commit. View.Run answers
// queries, one or many at a time, identically to the CPU; View.Intersect runs a step of a
// conjunction, from candidates to candidates; View.Locate reports the forms of a query's lists;
// View.Warm uploads an index in advance.
//
// Phrases and trees run on the CPU only, as package dispatch decides. This package does not
// compute weights or the bitmaps of filters.
//
// # Lanes
//
// A device has lanes, each with a stream, an uploader and the memory of a batch, so that
// several runs compute at the same time. A run takes a lane, pins the lists of its queries,
// uploads missing lists, makes its stream wait for uploads under way, and launches.
//
// If the images of a batch exceed the memory, the batch is answered in slices, one per lane at a
// time: some compute while lists of others are uploaded. Queries that share long lists are in
// the same slice or in consecutive ones (slices.go). Others, the CPUs in package dispatch,
// answer queries not yet started.
//
// # Paths
//
// Images answer a query (package imagesearch) while its missing images have room; else package
// packedsearch answers it from compressed lists (PathAuto). A batch uses images, unless these exceed
// the memory several times (crowd).
// Then a large batch of OR queries goes by bands of documents whose images fit (imagesearch.Pass), which bring each list once for
// all queries (PathBands). A device has one such pass at a time, and the next one answers the queries of all runs that wait. Others
// do not help: a pass takes hardly less time for fewer queries.
// Lists that packedsearch cannot read (impacts, codecs other than simdbp), an Engine of several
// devices, since a compressed list cannot be split at a document, and scores that may exceed 2^32
// always use images.
//
// Segments that are marked OnCPU are on no device: a View ignores them, and the caller adds their hits.
//
// If an Engine has several devices, each holds a range of the documents of every segment, and
// results are merged in the total order. Package dispatch usually has an Engine for each device
// instead (OpenEach), with all documents.
//
// # Failure
//
// Device errors never reach a user: an unanswered query has Result.Err, and the CPU answers it.
// Running out of memory affects only that query. After a device is lost or its kernels fail, the
// Engine answers no query, because each device holds a shard of every segment.
//
// A panic, which is a bug, continues in the caller, from any goroutine of the run, which first
// returns its lane and lists.
//
// # Concurrency
//
// An Engine and a View are safe for concurrent use. Several goroutines may run the same Query;
// a Result and a Step belong to one run. If its lists are resident, a run on one device allocates
// no memory and holds a lock only for look-ups.
package pipeline
