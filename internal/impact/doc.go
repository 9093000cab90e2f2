// Package impact holds impact-ordered lists: for each term its documents, ordered not by
// DocID but by the term's contribution to their scores, quantised to 8 bits.
// Score-at-a-time search (package saat) reads them.
//
//	list:     term | segment of impact 93 | segment of impact 92 | …
//	segment:  the DocIDs with that impact, increasing
//
// Anh, de Kretser and Moffat, "Vector-space ranking with effective early termination",
// SIGIR 2001 (impact-ordered lists, uniform quantisation); Crane, Trotman and O'Keefe,
// "Maintaining discriminatory power in quantized indexes", CIKM 2013; Trotman and Crane,
// "Micro and macro optimization of SaaT search", §2.
//
// A Writer takes lists of (DocID, Impact) in the order of their terms. A Ranking and a
// Quantizer compute the impacts from frequencies and lengths, or a learned sparse model
// supplies them. The Writer writes one sealed file. Open maps it and reads its description,
// Find returns the List of a term, Verify checks everything. The file is derived: it stores
// the commit of the index that it was made from and is invalid for any other.
//
// The package does not search and does not depend on indexes: internal/index creates and
// finds the file.
//
// An Index is safe for concurrent use; a Writer is not.
//
// docs/formats/impacts.md describes the file byte by byte.
package impact
