package inverter

import "github.com/griffin-search/griffin/internal/analysis"

// wordNumbers are the numbers of terms in the default field, plus 1, by analysis.Token.Word: for most
// words, they take the place of the search in the table.
type wordNumbers struct {
	epoch   uint64
	numbers []uint32
	out     []uint32
	hashes  [termsAhead]uint32 // of terms whose numbers are searched in the table
}

// termsAhead is how many tokens have their slots read before the first is searched.
const termsAhead = 64

// number returns the numbers of terms in the default field, valid until the next call.
func (v *inverter) number(tokens []analysis.Token) []uint32 {
	w, main := &v.words, &v.fields[0]
	if epoch := analysis.Epoch(v.analyzer); epoch != w.epoch {
		clear(w.numbers)
		w.epoch = epoch
	}
	w.out = w.out[:0]
	for rest := tokens; len(rest) > 0; rest = rest[min(termsAhead, len(rest)):] {
		w.add(main, rest[:min(termsAhead, len(rest))])
	}
	return w.out
}

// add appends the numbers of up to termsAhead tokens to out.
func (w *wordNumbers) add(f *fieldInverter, tokens []analysis.Token) {
	var unknown [termsAhead]uint8 // tokens
	n, first := 0, len(w.out)
	for i := range tokens {
		word := int(tokens[i].Word)
		if word >= len(w.numbers) {
			w.numbers = append(w.numbers, make([]uint32, word+1-len(w.numbers))...)
		}
		number := w.numbers[word] - 1
		if number == noTerm || word == 0 {
			unknown[n], w.hashes[n] = uint8(i), hashTerm(tokens[i].Term)
			n++
		}
		w.out = append(w.out, number)
	}
	f.table.touch(w.hashes[:n])
	for j, i := range unknown[:n] {
		word := tokens[i].Word
		number := w.numbers[word] - 1
		if number == noTerm || word == 0 { // else the word was there before in these tokens
			number = f.numberHashed(tokens[i].Term, w.hashes[j])
			w.numbers[word] = number + 1
		}
		w.out[first+int(i)] = number
	}
}
