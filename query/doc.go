// Package query holds the query language: the nodes of a query, a parser that
// turns text into nodes, and the functions that build nodes in a program. It
// covers syntax only. The index's analyzer decides which index terms a word
// becomes, when a search is planned.
//
// # Building a query
//
// A leaf is a literal of Term, Phrase or Words. All, Any, Group and Exclude
// combine nodes:
//
//	q := query.Exclude(
//		query.All(
//			&query.Term{Field: "title", Text: "whale", Boost: 2},
//			query.Any(&query.Term{Text: "ship"}, &query.Phrase{Text: "white whale"}),
//		),
//		&query.Term{Text: "film"},
//	)
//
// To put text of unknown content into a query, use Words (each word counts on
// its own) or Term in a node, and Quote in query text. Nothing in such text is
// an operator.
//
// # Language
//
//	query    = { either }                   side by side: required or optional, depending on the mode
//	either   = both { "OR" both }           at least one is required, in every mode
//	both     = clause { "AND" clause }      all are required, in every mode
//	clause   = [ "+" | "-" | "NOT" ] operand [ "^" boost ]
//	operand  = [ field ":" ] ( word | "phrase" | "(" query ")" )
//
// NOT binds tighter than AND, AND tighter than OR, and OR tighter than
// juxtaposition: "a b OR c AND d" is "a (b OR (+c +d))". AND, OR and NOT are
// operators in upper case only. "+" and "-" are operators only at the start of
// a clause, directly before their operand: "C++" and "wi-fi" are words. A
// clause has at most one prefix operator: in "--all" the second hyphen is text.
//
// A field is one of the names given to Parse. Any other name before a colon is
// text, so "std::vector", "http://host/" and "note: this" are plain words. A
// field before parentheses applies to every operand in them that names none.
//
// A backslash escapes an ASCII punctuation mark, a blank, and a whole word AND,
// OR or NOT. Before any other character it is a literal backslash: `C:\temp`
// needs no escape. Within quotes it escapes a quote and a backslash only.
//
// A boost is a decimal number from MinBoost to MaxBoost. Empty parentheses
// are no clause.
//
// # Errors
//
// There is one parser. ParseLenient always returns a tree, and reports each
// fault that it ignored; Parse returns the first of these faults as an error.
// Both accept any bytes and take time linear in their number.
//
// The functions keep no state and are safe for concurrent use. Nodes are plain
// values that the caller owns. Do not change a node while a search uses it.
package query
