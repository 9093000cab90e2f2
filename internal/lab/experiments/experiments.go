package experiments

import "github.com/griffin-search/griffin/internal/lab"

// All is in the order of the report.
func All() []lab.Experiment {
	all := []lab.Experiment{
		griffin18Fig7(),
		griffin18Fig8(),
		griffin18Fig10(),
		griffin18Fig11(),
		griffin18Table1(),
		griffin18Fig12(),
		griffin18Fig13(),
		griffin18Fig14(),
		griffin18Fig15(),
		griffin18Ratio(),
		griffin18Regret(),
		ding09Fig3(),
		ding09Table1(),
		ding09Fig4(),
		ding09Fig6(),
		ding09Fig7(),
		ding09Table2(),
		ding09Table3(),
		ding08Table1(),
		ao11Table1(),
		ao11Table2(),
		ao11Table3(),
		ao11Fig1(),
		ao11Fig3(),
		ao11Fig5(),
		ao11Fig6(),
		ao11Fig7(),
		ao11Fig8(),
		ao11Fig9a(),
		ao11Fig9b(),
		ao11Table4(),
		ao11Table5(),
		ao11Table7(),
		ao11Engine(),
		ao11Accesses(),
		ao11Local(),
		ao11ListH(),
		ao11Memory(),
		saatTable1(),
		saatTable2(),
		saatTable3(),
		saatFig2(),
		saatFig2Unoptimised(),
	}
	for i := range all {
		if all[i].Since.IsZero() {
			all[i].Since = engines
		}
	}
	return all
}
