package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/griffin-search/griffin/internal/corpus"
)

// What writeSets makes.
const (
	numLong, longWords  = 300, 30
	numRare             = 500
	leastRare, mostRare = 5, 200 // documents of a rare word, as it is written

	longName, rareName, pairsName = "first-30-words.tsv", "rare-words.tsv", "rare-pairs.tsv"
)

// writeSets writes three logs of queries of a collection: the first words of documents that are spread over it, words that are
// in few documents, and pairs of such words. The same documents give the same logs.
func writeSets(ctx context.Context, folder string, paths []string) (err error) {
	reader, err := corpus.Open(paths, corpus.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	var long []string
	numDocs := map[string]int{} // by word
	last := map[string]int{}    // document, by word
	for n := 0; ctx.Err() == nil; {
		batch, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		err = batch.Parse(func(d *corpus.Document) error {
			words := strings.FieldsFunc(strings.ToLower(d.Text), func(r rune) bool { return !unicode.IsLetter(r) })
			if n++; len(words) >= longWords {
				long = append(long, strings.Join(words[:longWords], " "))
			}
			for _, w := range words {
				if last[w] != n {
					last[w] = n
					numDocs[w]++
				}
			}
			return nil
		}, func(e *corpus.RecordError) error { return e })
		if err != nil {
			return err
		}
	}
	var rare []string
	for w, n := range numDocs {
		if n >= leastRare && n <= mostRare {
			rare = append(rare, w)
		}
	}
	slices.Sort(rare)
	rng := rand.New(rand.NewPCG(numRare, longWords))
	rng.Shuffle(len(rare), func(i, j int) { rare[i], rare[j] = rare[j], rare[i] })
	if len(long) < numLong || len(rare) < 3*numRare {
		return fmt.Errorf("%d documents of %d words and %d rare words, want %d and %d", len(long), longWords, len(rare), numLong, 3*numRare)
	}
	spread := make([]string, numLong)
	for i := range spread {
		spread[i] = long[i*len(long)/numLong]
	}
	pairs := make([]string, numRare)
	for i := range pairs {
		pairs[i] = rare[numRare+2*i] + " " + rare[numRare+2*i+1]
	}
	return errors.Join(ctx.Err(), writeLog(folder, longName, spread), writeLog(folder, rareName, rare[:numRare]), writeLog(folder, pairsName, pairs))
}

func writeLog(folder, name string, queries []string) error {
	var b strings.Builder
	for i, q := range queries {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, q)
	}
	return os.WriteFile(filepath.Join(folder, name), []byte(b.String()), 0o644)
}
