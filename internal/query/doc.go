// Package query turns the text of a query into a tree of terms, phrases and
// groups, and back. It knows the syntax only: what a word means (which index
// terms it becomes, how often they occur) is decided by package exec when the
// query is planned for an index.
//
// # Language
//
//	query    = { either }                   side by side: required or optional, as the mode says
//	either   = both { "OR" both }           one of them is enough, in every mode
//	both     = clause { "AND" clause }      all are required, in every mode
//	clause   = [ "+" | "-" | "NOT" ] operand [ "^" boost ]
//	operand  = [ field ":" ] ( word | "phrase" | "(" query ")" )
//
// So NOT binds tighter than AND, AND tighter than OR, and OR tighter than
// standing side by side: "a b OR c AND d" is "a (b OR (+c +d))". AND, OR and
// NOT are operators in upper case only. "+" and "-" are operators where a
// clause begins, directly before their operand: "C++" and "wi-fi" are words.
// After one prefix operator the rest is an operand: in "--all" the second
// hyphen is text.
//
// A field is one of the names given to Parse; anything else before a colon is
// text, so "std::vector", "http://host/" and "note: this" are plain words. A
// field before parentheses holds for every operand in them that names none.
//
// A backslash takes from an ASCII punctuation mark or blank, and from a whole
// word AND, OR or NOT, its meaning; before anything else it stands for itself,
// so that `C:\temp` is what it looks like. Within quotes it has a meaning
// before a quote and a backslash.
//
// A boost is a decimal number from MinBoost to MaxBoost. Empty parentheses
// are no clause.
//
// # Errors
//
// There is one parser. ParseLenient always returns a tree, and says what it
// had to ignore; Parse returns the first of these remarks as an error.
// Both take any bytes, in time linear in their number.
//
// The functions keep no state and are safe for concurrent use. Trees are plain
// values: whoever got one may change it.
package query
