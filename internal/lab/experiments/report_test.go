package experiments_test

import (
	"testing"

	"github.com/griffin-search/griffin/internal/lab/experiments"
)

func TestItemsHaveAllExperiments(t *testing.T) {
	if err := experiments.Report().CheckItems(); err != nil {
		t.Error(err)
	}
}
