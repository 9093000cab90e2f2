package query_test

import (
	"fmt"

	"github.com/griffin-search/griffin/query"
)

func Example() {
	q := query.Exclude(
		query.All(
			&query.Term{Field: "title", Text: "whale", Boost: 2},
			query.Any(&query.Term{Text: "ship"}, &query.Phrase{Text: "white whale"}),
		),
		&query.Term{Text: "film"},
	)
	fmt.Println(q, query.Validate(q))

	parsed, err := query.Parse("title:whale^2 AND (ship OR harpoon)", []string{"title"})
	fmt.Println(parsed, err)
	// Output:
	// +(+title:whale^2 +(ship OR "white whale")) -film <nil>
	// +title:whale^2 +(ship OR harpoon) <nil>
}

func ExampleQuote() {
	text := "title:" + query.Quote(`AC/DC "live" -1991`)
	q, err := query.Parse(text, []string{"title"})
	fmt.Println(q, err)
	// Output: title:"AC/DC \"live\" -1991" <nil>
}
