// Package impact holds impact-ordered lists, which package saat searches: a term's documents by
// its contribution to their scores, quantised to 8 bits.
//
//	list:     term | segment of impact 93 | segment of impact 92 | …
//	segment:  the DocIDs with that impact, increasing
//
// Anh, de Kretser and Moffat, "Vector-space ranking with effective early termination", SIGIR
// 2001 (impact-ordered lists, uniform quantisation); Crane, Trotman and O'Keefe, "Maintaining
// discriminatory power in quantized indexes", CIKM 2013; Trotman and Crane, "Micro and macro
// optimization of SaaT search", §2.
//
// A Writer takes lists of (DocID, Impact) by term and writes one sealed file. A Ranking and a
// Quantizer compute impacts from frequencies and lengths, or a learned sparse model supplies
// them. Open maps it, Find returns a term's List, Verify checks everything. The file is
// derived: it is valid for its commit of the index only. For a commit without a file, NewComputed
// returns an Index whose lists are computed when Find asks for them.
//
// An Index is safe for concurrent use; a Writer is not.
//
// docs/formats/impacts.md describes the file byte by byte.
package impact
