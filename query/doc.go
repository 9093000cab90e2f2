// Package query holds the query language: nodes, a parser, and functions that build nodes. It
// covers syntax only: a search's analyzer makes index terms of words.
//
// # Building a query
//
// A leaf is a literal of Term, Phrase or Words. All, Any, Group and Exclude combine nodes:
//
//	q := query.Exclude(
//		query.All(
//			&query.Term{Field: "title", Text: "whale", Boost: 2},
//			query.Any(&query.Term{Text: "ship"}, &query.Phrase{Text: "white whale"}),
//		),
//		&query.Term{Text: "film"},
//	)
//
// Text of unknown content goes into Words (each word counts on its own) or Term, or, in query
// text, through Quote; nothing in it is an operator.
//
// # Language
//
//	query    = { either }                   side by side: required or optional, depending on the mode
//	either   = both { "OR" both }           at least one is required, in every mode
//	both     = clause { "AND" clause }      all are required, in every mode
//	clause   = [ "+" | "-" | "NOT" ] operand [ "^" boost ]
//	operand  = [ field ":" ] ( word | "phrase" | "(" query ")" )
//	         | field ":" vector              a JSON object of terms and weights
//
// NOT binds tighter than AND, then OR, then juxtaposition: "a b OR c AND d" is "a (b OR (+c
// +d))". AND, OR and NOT are operators in upper case only. "+" and "-" are operators only at
// the start of a clause, directly before their operand ("C++" and "wi-fi" are words), and once:
// in "--all" the second hyphen is text.
//
// A field is one of the names given to Parse; others before a colon are text, so "std::vector",
// "http://host/" and "note: this" are words. A field before parentheses applies to operands in
// them without one.
//
// A backslash escapes an ASCII punctuation mark, a blank, and a whole word AND, OR or NOT;
// elsewhere it is literal: `C:\temp` needs no escape. Within quotes it escapes only a quote and
// a backslash.
//
// A boost is a decimal number from MinBoost to MaxBoost. Empty parentheses are no clause.
//
// # Errors
//
// ParseLenient always returns a tree and reports each fault that it ignored; Parse returns the
// first as an error. Both accept any bytes, in linear time.
//
// Functions are safe for concurrent use. The caller owns nodes, which must not change while a
// search uses them.
package query
