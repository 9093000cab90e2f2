package inverter

import "github.com/griffin-search/griffin/internal/analysis"

// wordNumbers are the numbers of terms in the default field, plus 1, by analysis.Token.Word: for most
// words, they take the place of the search in the table.
type wordNumbers struct {
	epoch   uint64
	numbers []uint32
	out     []uint32
	unknown []int    // tokens whose numbers are searched in the table
	hashes  []uint32 // of their terms
}

// number returns the numbers of terms in the default field, valid until the next call.
func (v *inverter) number(tokens []analysis.Token) []uint32 {
	w, main := &v.words, &v.fields[0]
	if epoch := analysis.Epoch(v.analyzer); epoch != w.epoch {
		clear(w.numbers)
		w.epoch = epoch
	}
	w.out, w.unknown, w.hashes = w.out[:0], w.unknown[:0], w.hashes[:0]
	for i := range tokens {
		word := int(tokens[i].Word)
		if word >= len(w.numbers) {
			w.numbers = append(w.numbers, make([]uint32, word+1-len(w.numbers))...)
		}
		n := w.numbers[word] - 1
		if n == noTerm || word == 0 {
			w.unknown = append(w.unknown, i)
			w.hashes = append(w.hashes, hashTerm(tokens[i].Term))
		}
		w.out = append(w.out, n)
	}
	main.table.touch(w.hashes)
	for j, i := range w.unknown {
		word := tokens[i].Word
		n := w.numbers[word] - 1
		if n == noTerm || word == 0 { // else the word was there before in these tokens
			n = main.numberHashed(tokens[i].Term, w.hashes[j])
			w.numbers[word] = n + 1
		}
		w.out[i] = n
	}
	return w.out
}
