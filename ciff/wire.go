package ciff

import "google.golang.org/protobuf/encoding/protowire"

// From the format's definition.
const (
	headerVersion            protowire.Number = 1
	headerNumPostingsLists   protowire.Number = 2
	headerNumDocs            protowire.Number = 3
	headerTotalPostingsLists protowire.Number = 4
	headerTotalDocs          protowire.Number = 5
	headerTotalTerms         protowire.Number = 6
	headerAverageDocLength   protowire.Number = 7
	headerDescription        protowire.Number = 8

	listTerm     protowire.Number = 1
	listDF       protowire.Number = 2
	listCF       protowire.Number = 3
	listPostings protowire.Number = 4

	postingDocID protowire.Number = 1
	postingTF    protowire.Number = 2

	// Number and type of the most frequent fields, as bytes.
	postingsTag = byte(listPostings)<<3 | byte(protowire.BytesType)
	docIDTag    = byte(postingDocID)<<3 | byte(protowire.VarintType)
	tfTag       = byte(postingTF)<<3 | byte(protowire.VarintType)

	docDocID           protowire.Number = 1
	docCollectionDocID protowire.Number = 2
	docDocLength       protowire.Number = 3
)
