package experiments_test

import (
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/lab/experiments"
	"github.com/griffin-search/griffin/internal/sampletest"
)

var onDevice = []string{
	"griffin18-fig7", "griffin18-fig8", "griffin18-fig12", "griffin18-fig13", "griffin18-fig14", "griffin18-fig15", "griffin18-regret", "griffin18-ratio",
	"ding09-table1", "ding09-fig4", "ding09-fig6", "ding09-fig7", "ding09-table2", "ding09-table3", "ding08-table1",
	"ao11-table3", "ao11-fig5", "ao11-fig6", "ao11-fig8", "ao11-fig9a", "ao11-fig9b", "ao11-table7", "ao11-engine", "ao11-local", "ao11-list-h",
}

// A record names the GPU only if the experiment measured on it.
func TestOnlyDeviceExperimentsNameTheGPU(t *testing.T) {
	sampletest.SkipRace(t)
	t.Setenv(cuda.LibraryVariable, gputest.Library(t).Path())
	env := lab.NewEnv(lab.Config{Work: t.TempDir(), Seed: 1, Quick: true, Device: "gpu", Command: "test"})
	t.Cleanup(env.Close)
	if _, _, err := env.Device(); err != nil {
		t.Fatal(err)
	}
	chosen, err := lab.Select(experiments.All(), []string{"griffin18-fig11", "griffin18-fig13"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range chosen {
		r, err := env.Run(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if named, want := r.Provenance.GPU != "", e.Name == "griffin18-fig13"; named != want {
			t.Errorf("%s names the GPU: %t, want %t (%q)", e.Name, named, want, r.Provenance.GPU)
		}
	}
}

// Each experiment compares the device's results with the CPU's. Only cells with
// a permanent reason are empty.
func TestDeviceExperimentsFillTheirCells(t *testing.T) {
	if testing.Short() {
		t.Skip("the emulator takes its time: run without -short")
	}
	library := gputest.Library(t)
	t.Setenv(cuda.LibraryVariable, library.Path())
	work := t.TempDir()
	env := lab.NewEnv(lab.Config{Work: work, Seed: 1, Quick: true, Device: "gpu", Command: "test"})
	t.Cleanup(env.Close)
	chosen, err := lab.Select(experiments.All(), onDevice)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sampletest.Some(t, 2, chosen) {
		t.Run(e.Name, func(t *testing.T) {
			r, err := env.Run(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if r.Provenance.GPU == "" {
				t.Error("the record does not name the GPU")
			}
			for _, table := range r.Result.Tables {
				for i, row := range table.Cells {
					for j, c := range row {
						if c.Absent == "Run without a GPU (--device gpu)." {
							t.Errorf("table %q: row %q, column %q is empty", table.Title, table.Rows[i], table.Columns[j])
						}
					}
				}
			}
		})
	}
}
