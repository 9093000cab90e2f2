package regret

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const timesHeader = "query\tdoc_freqs\tway\tround\tus\tran"

// WriteTimes writes every measured time as tab-separated values: the query, its terms' document
// frequencies, the way, the round, the microseconds, and the processors ("cpu", "gpu" or
// "both"; "-" with the oracle). A way is a variant's name, or "oracle: " with a placement or a
// policy with its own Searcher. Impossible and excluded placements are omitted.
func (m *Measured) WriteTimes(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, timesHeader)
	for i := range m.Queries {
		q := &m.Queries[i]
		freqs := make([]string, len(q.DocFreqs))
		for j, n := range q.DocFreqs {
			freqs[j] = strconv.FormatUint(n, 10)
		}
		line := func(way string, round int, took time.Duration, ran string) {
			fmt.Fprintf(b, "%s\t%s\t%s\t%d\t%.3f\t%s\n", q.ID, strings.Join(freqs, " "), way, round, micros(took), ran)
		}
		for v, times := range q.Took {
			for round, took := range times {
				line(m.Names[v], round, took, q.Ran[v][round].String())
			}
		}
		for v, times := range q.beside {
			for round, took := range times {
				line(Oracle+": "+m.Names[v], round, took, "-")
			}
		}
		for j, times := range q.placed {
			for round, took := range times {
				if took > 0 {
					line(Oracle+": "+q.placements[j].String(), round, took, "-")
				}
			}
		}
	}
	return b.Flush()
}

// String returns "cpu", "gpu" or "both".
func (p Places) String() string {
	switch {
	case p.CPU && p.GPU:
		return "both"
	case p.GPU:
		return "gpu"
	}
	return "cpu"
}
