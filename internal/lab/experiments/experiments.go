package experiments

import "github.com/griffin-search/griffin/internal/lab"

// All are the experiments, in the order of the report.
func All() []lab.Experiment {
	return []lab.Experiment{
		griffin18Fig11(),
	}
}
