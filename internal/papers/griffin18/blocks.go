package griffin18

import "github.com/griffin-search/griffin/internal/papers/lists"

// blocksOf returns the words of some blocks of a payload, and the byte at which each begins there. The
// directory has lists.EntryWords words for each block of the payload; the third is the block's byte.
func blocksOf(directory, payload, numbers []uint32) (words, offsets []uint32) {
	offsets = make([]uint32, 0, len(numbers))
	for _, number := range numbers {
		entry := directory[number*lists.EntryWords:]
		begin, end := int(entry[2]), 4*len(payload)
		if len(entry) > lists.EntryWords {
			end = int(entry[lists.EntryWords+2])
		}
		offsets = append(offsets, uint32(4*len(words)+begin%4))
		words = append(words, payload[begin/4:(end+3)/4]...)
	}
	return words, offsets
}

// freqsOf returns the directory and the words of a list's frequencies, of some blocks unless numbers is
// nil.
func freqsOf(l *lists.List, numbers []uint32) (directory, words []uint32) {
	if numbers == nil {
		return l.FreqDirectory, l.Freqs
	}
	words, offsets := blocksOf(l.FreqDirectory, l.Freqs, numbers)
	for i, number := range numbers {
		entry := l.FreqDirectory[number*lists.EntryWords:][:lists.EntryWords]
		directory = append(directory, entry[0], entry[1], offsets[i], entry[3])
	}
	return directory, words
}
