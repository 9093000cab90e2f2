package analysis

// Token is one term of a text and its place in it.
type Token struct {
	// Term is the indexed form. It points into the analyzer's memory and is
	// valid until the analyzer's next call.
	Term []byte
	// Start and End are the byte offsets of the surface form: text[Start:End].
	Start, End int32
	// Position counts words from 0. Removed stop words leave a gap, so that a
	// phrase matches only where its words stand at the same distance.
	Position uint32
}

// Analyzer turns text into terms. An Analyzer keeps caches and buffers: use
// one for each goroutine (New is cheap next to a document batch).
type Analyzer interface {
	// Name is the registered name, for example "english".
	Name() string
	// Tokens appends the tokens of text to dst in rising Start order and
	// returns the extended slice. It never fails: bytes that are not UTF-8
	// separate words. It allocates nothing once its buffers have grown.
	Tokens(dst []Token, text []byte) []Token
}
