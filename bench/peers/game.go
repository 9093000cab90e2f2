package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// gameQuery is a query of search-benchmark-game: words and "phrases", each required (+), excluded (-) or optional.
type gameQuery struct {
	text string
	kind string // the first tag, such as union or phrase
}

// gameCommand is one of search-benchmark-game.
type gameCommand struct {
	name   string
	k      int  // 0: no hits
	counts bool // the answer is the number of matches; else 1
}

var gameCommands = []gameCommand{
	{"TOP_10", 10, false},
	{"TOP_100", 100, false},
	{"TOP_1000", 1000, false},
	{"TOP_100_COUNT", 100, true},
	{"COUNT", 0, true},
}

// gameEngine answers commands, one at a time.
type gameEngine interface {
	name() string
	build(ctx context.Context, dir string, passages []passage) error
	// run takes the query's text, and returns the answer and the time until then.
	run(ctx context.Context, c *gameCommand, q *gameQuery) (answer int64, took time.Duration, err error)
	// top returns the numbers of the passages of the best hits.
	top(ctx context.Context, q *gameQuery, k int) ([]int, error)
	close() error
}

// gameText is the grammar of the queries. Their words are tokens, which need no further analysis.
var gameText = regexp.MustCompile(`^[+-]?([a-z0-9]+|"[a-z0-9]+( [a-z0-9]+)*")( [+-]?([a-z0-9]+|"[a-z0-9]+( [a-z0-9]+)*"))*$`)

// readGame reads JSON lines of queries with tags.
func readGame(path string) (queries []gameQuery, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var line struct {
			Query string
			Tags  []string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		if !gameText.MatchString(line.Query) || len(line.Tags) == 0 {
			return nil, fmt.Errorf("%s, line %d: %q with tags %q is no query of words and phrases", path, n, line.Query, line.Tags)
		}
		queries = append(queries, gameQuery{line.Query, line.Tags[0]})
	}
	if len(queries) == 0 && lines.Err() == nil {
		return nil, fmt.Errorf("%s has no queries", path)
	}
	return queries, lines.Err()
}

// clauses calls f for the words of each clause, more than one of a phrase; occur is '+', '-' or 0.
func (q *gameQuery) clauses(f func(occur byte, words []string)) {
	for rest := q.text; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		occur := byte(0)
		if rest[0] == '+' || rest[0] == '-' {
			occur, rest = rest[0], rest[1:]
		}
		var clause string
		if inner, ok := strings.CutPrefix(rest, `"`); ok {
			clause, rest, _ = strings.Cut(inner, `"`)
		} else {
			end := strings.IndexByte(rest+" ", ' ')
			clause, rest = rest[:end], rest[end:]
		}
		f(occur, strings.Fields(clause))
	}
}

// gameKinds are the kinds of queries, in order of first appearance.
func gameKinds(queries []gameQuery) (kinds []string) {
	for i := range queries {
		if !slices.Contains(kinds, queries[i].kind) {
			kinds = append(kinds, queries[i].kind)
		}
	}
	return kinds
}
