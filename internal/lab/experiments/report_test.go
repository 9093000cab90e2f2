package experiments_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/lab/experiments"
)

func TestItemsHaveAllExperiments(t *testing.T) {
	if err := experiments.Report().CheckItems(); err != nil {
		t.Error(err)
	}
}

// reportFolder is the report of the repository.
const reportFolder = "../../../docs/lab"

func savedRecords(t *testing.T) []*lab.Record {
	records, err := lab.RecordsIn(reportFolder).LoadAll(experiments.All())
	if err != nil {
		t.Fatal(err)
	}
	if len(records) == 0 {
		t.Fatal("the report has no records")
	}
	return records
}

// The pages match the saved numbers and the texts: griffin lab report --out
// docs/lab --render writes them.
func TestReportIsRendered(t *testing.T) {
	dir := t.TempDir()
	if err := experiments.Report().Render(dir, savedRecords(t)); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		want, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(reportFolder, filepath.Base(page))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: render the report (%v)", filepath.Base(page), err)
		}
	}
}

// Statements of the pages about numbers hold for the saved numbers.
func TestFindingsHoldForTheReport(t *testing.T) {
	for _, r := range savedRecords(t) {
		if err := experiments.Report().CheckRecord(r); err != nil {
			t.Error(err)
		}
	}
}
