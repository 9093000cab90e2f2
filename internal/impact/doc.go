// Package impact holds impact-ordered lists: for each term the documents that
// have it, not in the order of their DocIDs but of what the term contributes to
// their scores, quantised to 8 bits. They are what score-at-a-time search
// (package saat) reads.
//
//	list:     term | segment of impact 93 | segment of impact 92 | …
//	segment:  the DocIDs with that impact, rising
//
// Anh, de Kretser and Moffat, "Vector-space ranking with effective early
// termination", SIGIR 2001 (impact-ordered lists, uniform quantisation); Crane,
// Trotman and O'Keefe, "Maintaining discriminatory power in quantized indexes",
// CIKM 2013; Trotman and Crane, "Micro and macro optimization of SaaT search", §2.
//
// A Writer takes lists of (DocID, Impact) in the order of their terms, wherever
// the impacts come from: a Ranking and a Quantizer make them of frequencies and
// lengths, learned sparse models bring their own. What it writes is one sealed
// file; Open maps it and reads its description, Find returns a List by its term,
// Verify checks everything. The file is derived: it names the commit of the index
// that it was made from and is of no use to another.
//
// The package neither searches nor knows what an index is: internal/index makes
// and finds the file.
//
// An Index is safe for concurrent use; a Writer is for one goroutine.
//
// docs/formats/impacts.md describes the file byte by byte.
package impact
