package trec_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/griffin-search/griffin/trec"
)

func ExampleReadTopics() {
	topics, err := trec.ReadTopics(strings.NewReader(`<top>
<num> Number: 301
<title> International Organized Crime
<desc> Description:
Identify organizations that participate in
international criminal activity.
</top>`))
	if err != nil {
		panic(err)
	}
	for _, t := range topics {
		fmt.Println(t.ID, "|", t.Text(trec.PartTitle), "|", t.Text(trec.PartDescription))
	}
	// Output: 301 | International Organized Crime | Identify organizations that participate in international criminal activity.
}

func ExampleEvaluate() {
	qrels, err := trec.ReadQrels(strings.NewReader("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n"))
	if err != nil {
		panic(err)
	}
	run, err := trec.ReadRun(strings.NewReader("q1 Q0 b 1 9.5 mine\nq1 Q0 x 2 8.1 mine\nq1 Q0 a 3 7.0 mine\n"))
	if err != nil {
		panic(err)
	}
	var measures []trec.Measure
	for _, name := range []string{"map", "ndcg_cut_10"} {
		m, err := trec.ParseMeasures(name)
		if err != nil {
			panic(err)
		}
		measures = append(measures, m...)
	}
	ev, err := trec.Evaluate(qrels, run, measures, trec.Options{Complete: true})
	if err != nil {
		panic(err)
	}
	fmt.Println("missing from the run:", ev.Missing)
	if err := ev.Write(os.Stdout, true /* perQuery */); err != nil {
		panic(err)
	}
	// Output:
	// missing from the run: [q2]
	// map                   	q1	0.8333
	// ndcg_cut_10           	q1	0.7602
	// map                   	all	0.4167
	// ndcg_cut_10           	all	0.3801
}

func ExampleRunWriter() {
	w, err := trec.NewRunWriter(os.Stdout, "griffin", trec.TiesKeepOrder)
	if err != nil {
		panic(err)
	}
	// b precedes c, although trec_eval prefers the larger number in ties.
	err = w.WriteRanking("301", []trec.RunEntry{{DocNo: "a", Score: 12.5}, {DocNo: "b", Score: 5.25}, {DocNo: "c", Score: 5.25}})
	if err != nil {
		panic(err)
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	// Output:
	// 301 Q0 a 1 12.5 griffin
	// 301 Q0 b 2 5.25 griffin
	// 301 Q0 c 3 5.2499995 griffin
}
