// Package codectest is the conformance suite of codecs: see Run and FuzzDecode.
package codectest
