package lab

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/collection"
)

func TestSharedMeasuresOnce(t *testing.T) {
	env := quickEnv(t)
	calls := 0
	measure := func() (int, error) {
		if calls++; calls == 1 {
			return 0, errors.New("no")
		}
		return 40 + calls, nil
	}
	if _, err := Shared(env, "a", measure); err == nil {
		t.Fatal("the error is lost")
	}
	for range 2 {
		if v, err := Shared(env, "a", measure); err != nil || v != 42 || calls != 2 {
			t.Fatalf("%d, %v after %d calls, want 42 after 2", v, err, calls)
		}
	}
	if v, _ := Shared(env, "b", measure); v != 43 {
		t.Errorf("another key: %d, want 43", v)
	}
}

// Another codec gives another index of the same documents and queries.
func TestGeneratedInAnotherCodec(t *testing.T) {
	env := quickEnv(t)
	s := Spec{Like: "gov2", Order: collection.Crawl, Log: TB05}
	a, queries, err := env.Generated(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Codec = "pfordelta"
	b, same, err := env.Generated(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != a.Name+"-pfordelta" || b.Snapshot.Options.Codec != "pfordelta" || a.Snapshot.Options.Codec == "pfordelta" {
		t.Errorf("%s of codec %s and %s of codec %s", a.Name, a.Snapshot.Options.Codec, b.Name, b.Snapshot.Options.Codec)
	}
	if len(same) != len(queries) || a.Snapshot.Fields[0].NumPostings != b.Snapshot.Fields[0].NumPostings {
		t.Errorf("%d queries over %d postings, then %d over %d", len(queries), a.Snapshot.Fields[0].NumPostings, len(same), b.Snapshot.Fields[0].NumPostings)
	}
}
