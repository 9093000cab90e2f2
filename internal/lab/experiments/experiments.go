package experiments

import "github.com/griffin-search/griffin/internal/lab"

// All are the experiments, in the order of the report.
func All() []lab.Experiment {
	return []lab.Experiment{
		griffin18Fig10(),
		griffin18Fig11(),
		ao11Table1(),
		ao11Table2(),
		ao11Fig3(),
		ao11Fig7(),
		ao11Table4(),
		ao11Table5(),
	}
}
