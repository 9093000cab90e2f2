package main

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/griffin-search/griffin"
)

// vocabulary draws words by Zipf's law: the n-th has a frequency proportional to 1/n.
type vocabulary struct {
	words []string
	drawn [1 << 16]int32 // equally likely ranges: the first word of each
}

func newVocabulary(n int) *vocabulary {
	v := &vocabulary{words: make([]string, n)}
	total := 0.0
	for i := range v.words {
		v.words[i] = word(i)
		total += 1 / float64(i+1)
	}
	at, sum := 0, 0.0
	for i := range v.drawn {
		for sum+1/float64(at+1) <= total*float64(i)/float64(len(v.drawn)) {
			sum += 1 / float64(at+1)
			at++
		}
		v.drawn[i] = int32(at)
	}
	return v
}

// word is a pronounceable word that no other number has.
func word(n int) string {
	const consonants, vowels = "bdfghjklmnprstvz", "aeiou"
	var w []byte
	for n += 80; n > 0; n /= 80 {
		w = append(w, consonants[n%80/5], vowels[n%5])
	}
	return string(w)
}

// draw returns a word for a random number.
func (v *vocabulary) draw(random uint64) string {
	i := random & 0xffff
	first, next := v.drawn[i], int32(len(v.words))
	if i+1 < uint64(len(v.drawn)) {
		next = v.drawn[i+1] + 1
	}
	within, _ := bits.Mul64(random&^0xffff, uint64(next-first)) // in a range, words are about equally frequent
	return v.words[first+int32(within)]
}

// mix is the finaliser of SplitMix64 (Steele et al., Fast splittable pseudorandom number generators,
// 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// stream is the writes of a client, which nothing but their number decides. No other client writes
// its ids.
type stream struct {
	client, clients int
	words           *vocabulary
	n               int    // writes
	added           int    // ids so far
	versions        []byte // by id: how often it was written; 0 after a deletion
	counts          [3]int // of writes by kind
	live            int
}

const (
	kindAdd = iota
	kindReplace
	kindDelete
)

// next returns the next write and the bytes of its texts.
func (s *stream) next() (w griffin.Write, size int) {
	kind := kindAdd
	switch s.n % 13 {
	case 4, 9:
		kind = kindReplace
	case 12:
		kind = kindDelete
	}
	random := mix(uint64(s.n)<<8 | uint64(s.client))
	s.n++
	if s.added == s.base() { // there is none to change
		kind = kindAdd
	}
	s.counts[kind]++
	id := s.added
	if kind == kindAdd {
		s.added++
		s.versions = append(s.versions, 0)
	} else {
		n, _ := bits.Mul64(random, uint64(s.added-s.base()))
		id = s.base() + int(n)
	}
	version := &s.versions[id-s.base()]
	if kind == kindDelete {
		if *version > 0 {
			s.live--
		}
		*version = 0
		return griffin.Write{Kind: griffin.WriteDelete, Document: griffin.Document{ID: s.id(id)}}, 0
	}
	if *version == 0 {
		s.live++
	}
	*version = byte(min(int(*version)+1, math.MaxUint8))
	d := s.document(id, random)
	return griffin.Write{Document: d}, len(d.Title) + len(d.Text)
}

// base is the first id: skip leaves out the ids of another stream.
func (s *stream) base() int { return s.added - len(s.versions) }

// skip begins at an id that the stream of n writes has not used.
func (s *stream) skip(n int) { s.added, s.versions = n, nil }

func (s *stream) id(n int) string { return strconv.Itoa(n*s.clients + s.client) }

// document has 2 words in its title and 20 to 35 in its text, 164 bytes in the mean with 500,000 words.
func (s *stream) document(id int, random uint64) griffin.Document {
	d := griffin.Document{ID: s.id(id)}
	text := make([]byte, 0, 256)
	numWords := 22 + int(random>>60)
	for i := range numWords {
		random = mix(random)
		text = append(append(text, s.words.draw(random)...), ' ')
		if i == 1 {
			d.Title = string(text[:len(text)-1])
			text = text[:0]
		}
	}
	d.Text = string(text[:len(text)-1])
	return d
}
