// Package codectest is the conformance suite of codecs: Run tests any implementation of
// codec.Codec, and FuzzDecode feeds it arbitrary bytes.
package codectest
