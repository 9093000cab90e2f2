// Package codectest is the conformance suite of codecs: Run holds for every
// implementation of codec.Codec, and FuzzDecode feeds one hostile bytes.
package codectest
