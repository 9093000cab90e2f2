package collection

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
)

func together(source *index.Snapshot, terms []string) (bool, error) {
	lists := make([]postings.List, len(terms))
	for i := range source.Segments {
		all := true
		for j, term := range terms {
			found, err := source.Segments[i].Find(0, []byte(term), &lists[j])
			if err != nil {
				return false, err
			}
			all = all && found
		}
		if !all {
			continue
		}
		if found, err := meet(lists); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// meet reports whether some document is in all lists, which it sorts by length.
func meet(lists []postings.List) (bool, error) {
	slices.SortFunc(lists, func(a, b postings.List) int { return cmp.Compare(a.DocFreq, b.DocFreq) })
	cursors := make([]postings.Cursor, len(lists))
	for i := range lists {
		cursors[i].Reset(&lists[i], nil)
	}
	target := cursors[0].NextGEQ(0)
	for target != base.NoDocID {
		at := target
		for i := 1; i < len(cursors) && at == target; i++ {
			at = cursors[i].NextGEQ(target)
		}
		if at == target {
			return true, nil
		}
		if at == base.NoDocID { // a list is exhausted or damaged
			break
		}
		target = cursors[0].NextGEQ(at)
	}
	for i := range cursors {
		if err := cursors[i].Err(); err != nil {
			return false, err
		}
	}
	return false, nil
}
