// Package residency decides which posting lists are resident in GPU memory and page-locked host
// memory, and in which form, and uploads them.
//
// It does not run queries or read dictionaries: package pipeline requests the lists of a query,
// which are returned pinned, and unpins them afterwards.
//
// # Main types
//
//   - [Device] is the memory of one GPU: a cache of lists (cache), the page-locked memory
//     beside it (hostMemory), [Uploader] values, and the promoter.
//   - [Shard] is the range of the documents of a segment that lies on a device.
//   - [Uploader.Image] and [Uploader.Packed] return the list of a [Leg], pinned, and upload
//     it if it is missing. [Waits] makes a stream wait for uploads.
//   - [Uploader.Warm] uploads lists before queries need them.
//
// # Forms of a list
//
// A list can be resident in several forms (record). Each memory keeps the forms with the
// greatest benefit per byte (gain.go):
//
//	kind           memory               size             read by
//	kindImage      device               9 times          package imagesearch
//	kindPacked     device               as in the index  package packedsearch
//	kindDirectory  device               8 per cent       package packedsearch, if the payload is on the host
//	kindHost       page-locked, mapped  as in the index  package packedsearch; uploaders
//	kindFilter     device               a bit a document both, for queries with a filter
//	kindColumn     device               2, 4 or 8 bytes      residency_range16, 32 and 64;
//	                                    a document or value  imagesearch_tally16 and 32
//	kindLent       device               most of it           passes of package imagesearch (Loan)
//
// If package decode lacks the codec, the CPU decodes lists for images. A compressed list is
// copied once from the index's file to page-locked memory, where kernels read it over the bus.
// The promoter copies frequently read lists, or their directories, to the device. A list that
// is not admitted streams through a reserve of memory.
//
// # Uploads
//
// Each lane of package pipeline has an uploader with its own stream, so lanes compute while
// another uploads. Only one uploader uploads a list; others wait for it, and until the event of
// its upload has completed, each run makes its stream wait for the event.
//
// The preparer uploads deletion bitmaps (liveDocs), and lists of new segments before queries need them
// (Device.Prepare), with an uploader of its own: it waits for no lane, and takes only free memory.
//
// With several devices, each uploads whole lists and keeps its range of the documents. The
// kernel residency_rebase subtracts the first DocID of the range (one thread per DocID, blocks
// of 256, no shared memory; CPU reference: source.next).
//
// # Failure
//
// Device errors are counted (Device.Note); a lost device is not used again. If a mapped file
// cannot be read, the methods of Uploader return a vfs.Fault, so that only the queries that
// need it fail. A panic during an upload frees the list's memory; a panic of the promoter is
// logged and stops promotion.
//
// # Concurrency
//
// A Device is safe for concurrent use; an Uploader and Waits belong to one goroutine at a time.
// A request for a resident list allocates no Go memory and locks only for the look-up. Lock
// order: a cache's lock before the lock of the records.
package residency
