package experiments_test

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/lab/experiments"
)

// These start goroutines: with -short, under the race detector, only these run.
var concurrent = []string{"ao11-table1", "saat-fig2"}

// Runs every experiment at toy scale; each fills every cell that it declares.
func TestAllExperimentsFillTheirCells(t *testing.T) {
	env := lab.NewEnv(lab.Config{Work: t.TempDir(), Seed: 1, Quick: true, Command: "test"})
	t.Cleanup(env.Close)
	seen := map[string]bool{}
	var records []*lab.Record
	for _, e := range experiments.All() {
		t.Run(e.Name, func(t *testing.T) {
			if testing.Short() && !slices.Contains(concurrent, e.Name) {
				t.Skip("one of many: run without -short")
			}
			if seen[e.Name] {
				t.Fatalf("two experiments are named %s", e.Name)
			}
			seen[e.Name] = true
			r, err := env.Run(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		})
	}
	if err := experiments.Report().Render(t.TempDir(), records); err != nil {
		t.Error(err)
	}
}
