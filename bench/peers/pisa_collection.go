package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
)

// pisaCollection is an inverted index in memory, in PISA's uncompressed form.
type pisaCollection struct {
	termIDs map[string]int // in the order of the terms
	lists   []pisaList     // by term
	lengths []uint32       // tokens, by document
}

type pisaList struct {
	docs, freqs []uint32
}

// newPisaCollection inverts the words of documents, numbered from 0.
func newPisaCollection(documents iter.Seq[[]string]) *pisaCollection {
	c := &pisaCollection{termIDs: make(map[string]int)}
	lists := make(map[string]*pisaList)
	for words := range documents {
		doc := uint32(len(c.lengths))
		for _, w := range words {
			l := lists[w]
			if l == nil {
				l = new(pisaList)
				lists[w] = l
			}
			if n := len(l.docs); n == 0 || l.docs[n-1] != doc {
				l.docs, l.freqs = append(l.docs, doc), append(l.freqs, 0)
			}
			l.freqs[len(l.freqs)-1]++
		}
		c.lengths = append(c.lengths, uint32(len(words)))
	}
	for id, term := range slices.Sorted(maps.Keys(lists)) {
		c.termIDs[term] = id
		c.lists = append(c.lists, *lists[term])
	}
	return c
}

// write writes the files that PISA reads, of sequences of little-endian numbers of 32 bits. A sequence is its length and its numbers.
//
//	BASE.docs   the number of documents, as a sequence; then a sequence for each term
//	BASE.freqs  a sequence for each term
//	BASE.sizes  the documents' lengths, one sequence
func (c *pisaCollection) write(base string) error {
	err := writeSequences(base+".docs", func(write func([]uint32) error) error {
		if err := write([]uint32{uint32(len(c.lengths))}); err != nil {
			return err
		}
		for i := range c.lists {
			if err := write(c.lists[i].docs); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = writeSequences(base+".freqs", func(write func([]uint32) error) error {
		for i := range c.lists {
			if err := write(c.lists[i].freqs); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return writeSequences(base+".sizes", func(write func([]uint32) error) error { return write(c.lengths) })
}

func writeSequences(path string, each func(write func([]uint32) error) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := each(func(s []uint32) error { return writeSequence(w, s) }); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func writeSequence(w io.Writer, s []uint32) error {
	b := make([]byte, 0, 4+4*len(s))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	for _, n := range s {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	_, err := w.Write(b)
	return err
}
