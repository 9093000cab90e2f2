package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fakePisa names the command of PISA in whose place the test's binary runs.
const fakePisa = "PEERS_TEST_PISA"

const fakeSlowerBP = 7 // µs that a query takes longer in BP order

func TestMain(m *testing.M) {
	if name := os.Getenv(fakePisa); name != "" {
		if err := runFakePisa(name, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fakePisaTools writes scripts in place of PISA's commands. They work on the collection.
func fakePisaTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{pisaCompress, pisaWand, pisaLexicon, pisaQueries, pisaEvaluate, pisaReorder} {
		writeScript(t, filepath.Join(dir, name), fmt.Sprintf("%s=%s exec %s \"$@\"", fakePisa, name, os.Args[0]))
	}
	return dir
}

func writeScript(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func runFakePisa(name string, args []string) error {
	if name == pisaLexicon {
		if len(args) != 3 || args[0] != "build" {
			return fmt.Errorf("arguments %q", args)
		}
		return copyFile(args[2], args[1])
	}
	var algorithms []string
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.Func("algorithm", "", func(a string) error { algorithms = append(algorithms, a); return nil })
	value := make(map[string]*string)
	for _, n := range []string{
		"collection", "output", "index", "wand", "queries", "documents", "reordered-documents", "encoding", "scorer",
		"bm25-k1", "bm25-b", "tokenizer", "log-level", "runs", "threads", "block-size",
	} {
		value[n] = flags.String(n, "", "")
	}
	flags.Bool("weighted", false, "")
	bisect := flags.Bool("recursive-graph-bisection", false, "")
	k := flags.Int("k", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	base := *value["collection"]
	switch name {
	case pisaCompress: // the index refers to the collection
		return os.WriteFile(*value["output"], []byte(base), 0o600)
	case pisaWand:
		if *value["bm25-k1"] != "0.9" || *value["bm25-b"] != "0.4" {
			return errors.New("not Griffin's BM25")
		}
		return copyFile(*value["output"], base+".sizes")
	case pisaReorder:
		if !*bisect {
			return errors.New("not BP")
		}
		return reverseFakeCollection(base, *value["output"], *value["documents"], *value["reordered-documents"])
	}
	path, err := os.ReadFile(*value["index"])
	if err != nil {
		return err
	}
	c, err := readFakeCollection(string(path))
	if err != nil {
		return err
	}
	queries, err := os.ReadFile(*value["queries"])
	if err != nil {
		return err
	}
	if name == pisaEvaluate {
		names, err := os.ReadFile(*value["documents"])
		if err != nil {
			return err
		}
		return c.evaluate(string(queries), strings.Fields(string(names)), algorithms[0], *k, os.Stdout)
	}
	runs, err := strconv.Atoi(*value["runs"])
	if err != nil {
		return err
	}
	slower := 0
	if filepath.Base(filepath.Dir(string(path))) == "pisa-bp" {
		slower = fakeSlowerBP
	}
	times := pisaTimesHeader
	for i, a := range algorithms {
		for line := range strings.Lines(string(queries)) {
			id, _, _ := strings.Cut(line, ":")
			for run := range runs { // of which the second is the fastest
				times += fmt.Sprintf("%s\t%s\t%d\t%d\n", a, id, run+1, slower+100-i+(run-1)*(run-1))
			}
		}
	}
	return os.WriteFile(*value["output"], []byte(times), 0o600)
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// fakeCollection has PISA's files, without the first sequence of documents.
type fakeCollection struct{ docs, freqs, sizes [][]uint32 }

func readFakeCollection(base string) (*fakeCollection, error) {
	c := new(fakeCollection)
	for suffix, to := range map[string]*[][]uint32{".docs": &c.docs, ".freqs": &c.freqs, ".sizes": &c.sizes} {
		data, err := os.ReadFile(base + suffix)
		if err != nil {
			return nil, err
		}
		for len(data) > 0 {
			s := make([]uint32, binary.LittleEndian.Uint32(data))
			for i := range s {
				s[i] = binary.LittleEndian.Uint32(data[4+4*i:])
			}
			*to, data = append(*to, s), data[4+4*len(s):]
		}
	}
	if len(c.docs[0]) != 1 || int(c.docs[0][0]) != len(c.sizes[0]) || len(c.sizes) != 1 {
		return nil, errors.New("numbers of documents differ")
	}
	c.docs = c.docs[1:]
	return c, nil
}

// reverseFakeCollection writes the collection with its documents in reverse order, and their names.
func reverseFakeCollection(from, to, names, reversedNames string) error {
	f, err := readFakeCollection(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(names)
	if err != nil {
		return err
	}
	lines := strings.Fields(string(data))
	slices.Reverse(lines)
	if err := os.WriteFile(reversedNames, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return err
	}
	c := &pisaCollection{lengths: f.sizes[0]}
	slices.Reverse(c.lengths)
	for term, docs := range f.docs {
		for i := range docs {
			docs[i] = uint32(len(c.lengths)-1) - docs[i]
		}
		slices.Reverse(docs)
		slices.Reverse(f.freqs[term])
		c.lists = append(c.lists, pisaList{docs, f.freqs[term]})
	}
	return c.write(to)
}

// evaluate writes the names of the hits of each query, scored with BM25 as Griffin does. Equal scores are in the order of the names.
func (c *fakeCollection) evaluate(queries string, names []string, algorithm string, k int, w io.Writer) error {
	sizes := c.sizes[0]
	n, total := float64(len(sizes)), 0.0
	for _, s := range sizes {
		total += float64(s)
	}
	for line := range strings.Lines(queries) {
		id, rest, _ := strings.Cut(line, ":")
		scores, terms := make(map[uint32]float64), make(map[uint32]int)
		words := strings.Fields(rest)
		for _, word := range words {
			term, err := strconv.Atoi(word)
			if err != nil {
				return err
			}
			df := float64(len(c.docs[term]))
			for i, doc := range c.docs[term] {
				f := float64(c.freqs[term][i])
				scores[doc] += math.Log(1+(n-df+0.5)/(df+0.5)) * f / (f + 0.9*(0.6+0.4*float64(sizes[doc])/(total/n)))
				terms[doc]++
			}
		}
		var hits []uint32
		number := make(map[uint32]int)
		for doc := range scores {
			if algorithm == "ranked_or" || terms[doc] == len(words) {
				hits = append(hits, doc)
				number[doc], _ = strconv.Atoi(names[doc])
			}
		}
		slices.SortFunc(hits, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(number[a], number[b]))
		})
		for rank, doc := range hits[:min(k, len(hits))] {
			if _, err := fmt.Fprintf(w, "%s Q0 %s %d %g R0\n", id, names[doc], rank+1, scores[doc]); err != nil {
				return err
			}
		}
	}
	return nil
}
