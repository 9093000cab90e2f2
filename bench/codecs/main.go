// Codecs measures every codec of package codec: the decoding speed of cached
// blocks, by width of values and SIMD level, and the bits per value. It writes
// JSON and the tables of docs/benchmarks/codecs.md.
//
//	go run ./bench/codecs -index INDEX -json codecs.json -markdown codecs.md
//
// # Method
//
// Synthetic blocks have gaps (less one) and frequencies (less one) distributed
// uniformly below 2^width. Without -widths they have widths of 1 to 16 and 20
// bits: 32 different blocks of 128 values, in 2 lists, decoded in turn. Lists
// of the index (-index) are 32 stretches of 16 full blocks, evenly spaced over
// its postings, so that most come from long lists, as in queries. All are
// decoded in turn, so that branch predictors do not learn one block.
//
// The minimum over many passes of 10 microseconds or more counts, because other
// load only adds time. The speed is for one core, including checks.
//
// Codecs that encode a list as a whole (codec.ListCodec) decode blocks by
// DecodeBlock in the tables, and whole lists by DecodeList in a separate table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/codec"
)

type options struct {
	index, json, markdown, commit string
	codecs                        []string
	widths                        []int
	budget                        time.Duration
}

func parseOptions(args []string) (options, error) {
	o := options{widths: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20}}
	flags := flag.NewFlagSet("codecs", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: codecs [flags]\n\nexample: codecs -index wiki.idx -markdown codecs.md\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.index, "index", "", "index whose lists are measured too; without it, synthetic blocks only")
	flags.StringVar(&o.json, "json", "", "write the result to this file")
	flags.StringVar(&o.markdown, "markdown", "", "write the tables to this file instead of standard output")
	flags.StringVar(&o.commit, "commit", "", "measured commit, for the result")
	flags.DurationVar(&o.budget, "time", 20*time.Millisecond, "time for each figure")
	names := flags.String("codecs", strings.Join(codec.Names(), " "), "codecs, with parameters if wanted, spaces between")
	widths := flags.String("widths", "", "widths of synthetic values in bits, commas between")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.codecs = strings.Fields(*names)
	if *widths != "" {
		o.widths = nil
		for w := range strings.SplitSeq(*widths, ",") {
			width, err := strconv.Atoi(w)
			if err != nil || width < 0 || width > widest {
				return o, fmt.Errorf("-widths %s: want whole numbers in 0..%d", *widths, widest)
			}
			o.widths = append(o.widths, width)
		}
	}
	if flags.NArg() > 0 || o.budget <= 0 {
		return o, errors.New("an argument, or a number that is too small; see -help")
	}
	return o, nil
}

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "codecs:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	codecs := make([]codec.Codec, 0, len(o.codecs))
	for _, name := range o.codecs {
		c, err := codec.Lookup(name)
		if err != nil {
			return err
		}
		codecs = append(codecs, c)
	}
	r := newResult(o)
	var sets []set
	for _, width := range o.widths {
		sets = append(sets, synthetic(width))
	}
	if o.index != "" {
		lists, err := openLists(o.index)
		if err != nil {
			return err
		}
		defer lists.close()
		s, err := lists.sample()
		if err != nil {
			return err
		}
		sets = append(sets, s)
	}
	var err error
	if r.Speeds, err = speeds(codecs, sets, o.budget); err != nil {
		return err
	}
	r.Bars = bars(r.Speeds)
	return r.write(o)
}

// Paths are reduced to file names, because folders differ between machines.
func command() string {
	words := []string{"codecs"}
	for _, arg := range os.Args[1:] {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}
