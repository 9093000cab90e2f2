package experiments

import (
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

// Report has all experiments, and the tables and figures of the papers.
func Report() *lab.Report { return &lab.Report{Experiments: All(), Items: items} }

// engines is when experiments began to measure the papers' systems by their
// engines. It is Experiment.Since of those that declare no later change.
var engines = time.Date(2026, time.November, 25, 1, 58, 43, 0, time.UTC)

// Reasons of several items.
const (
	explains = "Explains a method; there is nothing to measure"
	platform = "Describes the paper's machine; the pages name ours"
)

// items has every table and figure of the papers, and claims in their texts
// that have an experiment.
var items = []lab.Item{
	{Paper: "griffin18", Shows: "Fig. 1", Why: explains},
	{Paper: "griffin18", Shows: "Fig. 2", Why: explains},
	{Paper: "griffin18", Shows: "Fig. 3", Why: explains},
	{Paper: "griffin18", Shows: "Fig. 4", Why: "An example of Elias-Fano; a test of package codec encodes it"},
	{Paper: "griffin18", Shows: "Fig. 5", Why: explains},
	{Paper: "griffin18", Shows: "Fig. 6", Why: explains},
	{Paper: "griffin18", Shows: "Fig. 7", Experiment: "griffin18-fig7"},
	{Paper: "griffin18", Shows: "Fig. 8", Experiment: "griffin18-fig8"},
	{Paper: "griffin18", Shows: "Fig. 9", Why: explains + "; griffin18-ratio sweeps the ratio of 128 that it explains"},
	{Paper: "griffin18", Shows: "Fig. 10", Experiment: "griffin18-fig10"},
	{Paper: "griffin18", Shows: "Fig. 11", Experiment: "griffin18-fig11"},
	{Paper: "griffin18", Shows: "Table 1", Experiment: "griffin18-table1"},
	{Paper: "griffin18", Shows: "Fig. 12", Experiment: "griffin18-fig12"},
	{Paper: "griffin18", Shows: "Fig. 13", Experiment: "griffin18-fig13"},
	{Paper: "griffin18", Shows: "Fig. 14", Experiment: "griffin18-fig14"},
	{Paper: "griffin18", Shows: "Fig. 15", Experiment: "griffin18-fig15"},
	{Paper: "griffin18", Shows: "§2.3, §3.2, ratios", Experiment: "griffin18-ratio"},
	{Paper: "griffin18", Shows: "§3.2, regret", Experiment: "griffin18-regret"},

	{Paper: "ding09", Shows: "Fig. 1", Why: explains},
	{Paper: "ding09", Shows: "Fig. 2", Why: explains},
	{Paper: "ding09", Shows: "Fig. 3", Experiment: "ding09-fig3"},
	{Paper: "ding09", Shows: "Table 1", Experiment: "ding09-table1"},
	{Paper: "ding09", Shows: "Fig. 4", Experiment: "ding09-fig4"},
	{Paper: "ding09", Shows: "Fig. 5", Why: explains},
	{Paper: "ding09", Shows: "Fig. 6", Experiment: "ding09-fig6"},
	{Paper: "ding09", Shows: "Table 2", Experiment: "ding09-table2"},
	{Paper: "ding09", Shows: "Table 3", Experiment: "ding09-table3"},
	{Paper: "ding09", Shows: "Fig. 7, §9", Experiment: "ding09-fig7"},

	{Paper: "ding08", Shows: "Fig. 1", Why: explains},
	{Paper: "ding08", Shows: "Table 1", Experiment: "ding08-table1"},

	{Paper: "ao11", Shows: "Fig. 1", Experiment: "ao11-fig1"},
	{Paper: "ao11", Shows: "Fig. 2", Why: explains},
	{Paper: "ao11", Shows: "Table 1", Experiment: "ao11-table1"},
	{Paper: "ao11", Shows: "Fig. 3", Experiment: "ao11-fig3"},
	{Paper: "ao11", Shows: "Fig. 4", Why: explains},
	{Paper: "ao11", Shows: "Fig. 5", Experiment: "ao11-fig5"},
	{Paper: "ao11", Shows: "Fig. 6", Experiment: "ao11-fig6"},
	{Paper: "ao11", Shows: "Fig. 7", Experiment: "ao11-fig7"},
	{Paper: "ao11", Shows: "Fig. 8", Experiment: "ao11-fig8"},
	{Paper: "ao11", Shows: "Table 2", Experiment: "ao11-table2"},
	{Paper: "ao11", Shows: "Fig. 9 (a)", Experiment: "ao11-fig9a"},
	{Paper: "ao11", Shows: "Fig. 9 (b)", Experiment: "ao11-fig9b"},
	{Paper: "ao11", Shows: "Table 3", Experiment: "ao11-table3"},
	{Paper: "ao11", Shows: "Table 4", Experiment: "ao11-table4"},
	{Paper: "ao11", Shows: "Fig. 10", Why: explains},
	{Paper: "ao11", Shows: "Table 5", Experiment: "ao11-table5"},
	{Paper: "ao11", Shows: "Table 6", Why: platform},
	{Paper: "ao11", Shows: "Table 7", Experiment: "ao11-table7"},
	{Paper: "ao11", Shows: "§4.1, whole queries", Experiment: "ao11-engine"},
	{Paper: "ao11", Shows: "§4.3, accesses", Experiment: "ao11-accesses"},
	{Paper: "ao11", Shows: "§4.3, local safe ranges", Experiment: "ao11-local"},
	{Paper: "ao11", Shows: "§5.3, list H", Experiment: "ao11-list-h"},
	{Paper: "ao11", Shows: "§6.1, memory", Experiment: "ao11-memory"},

	{Paper: "saat", Shows: "Fig. 1", Why: explains},
	{Paper: "saat", Shows: "Table 1", Experiment: "saat-table1"},
	{Paper: "saat", Shows: "Table 2", Experiment: "saat-table2"},
	{Paper: "saat", Shows: "Table 3", Experiment: "saat-table3"},
	{Paper: "saat", Shows: "Fig. 2", Experiment: "saat-fig2"},
	{Paper: "saat", Shows: "Fig. 2, unoptimized program", Experiment: "saat-fig2-unoptimised"},
}
