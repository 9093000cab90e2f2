package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/griffin-search/griffin"
)

// check checks the flags. changed reports whether a flag is set.
func (o *verifyOptions) check(changed func(flag string) bool) error {
	for _, flag := range []string{"temp", "memory", "threads"} {
		if changed(flag) && !o.rebuild {
			return usagef("--%s: only with --rebuild", flag)
		}
	}
	if o.temp != "" {
		if info, err := os.Stat(o.temp); err != nil || !info.IsDir() {
			return usagef("--temp %s: no such folder", o.temp)
		}
	}
	if o.threads < 0 {
		return usagef("--threads %d: must not be negative", o.threads)
	}
	return o.memory.check()
}

func (a *app) verifyRebuild(ctx context.Context, o verifyOptions, ix *griffin.Index, dir string, waiting uncommitted) error {
	bar := a.newProgress()
	r, err := ix.VerifyRebuild(ctx, griffin.RebuildOptions{Temp: o.temp, Progress: bar.rebuilding})
	bar.close()
	err = hintRebuild(err)
	if err != nil && len(r.Differences) == 0 {
		return err
	}
	s, statsErr := ix.Stats()
	if statsErr != nil {
		return errors.Join(err, statsErr)
	}
	if a.json {
		result := verifyResult{OK: err == nil, Docs: s.NumDocs, SizeBytes: s.SizeBytes, Took: r.Took, Rebuild: &r, uncommitted: waiting}
		if err != nil {
			e := newJSONError("griffin verify", err)
			result.Error, err = &e, toldError{err}
		}
		return errors.Join(a.printJSON(result), err)
	}
	if err != nil {
		for _, d := range r.Differences {
			a.printf("%s\n", d)
		}
		return err
	}
	a.printf("%s: sound, and equal to a new index of its documents; %s, %s checked in %s%s\n", dir, plural(r.Docs, "document"), sizeOf(s.SizeBytes), took(r.Took), waiting.besides())
	a.printf("%s, %s and the answers to %s are the same\n", plural(r.Terms, "term"), plural(r.Postings, "posting"), plural(r.Queries, "query"))
	return nil
}

func hintRebuild(err error) error {
	switch {
	case errors.Is(err, griffin.ErrCorrupt):
		return hintedError{err, repairHint}
	case errors.Is(err, griffin.ErrBadInput):
		return hintedError{err, "only texts that the index stores can be indexed again: compare with an index that griffin index makes of the source, or verify without --rebuild"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return hintedError{err, "name a folder for the new index with --temp"}
	}
	return err
}

func (p *progress) rebuilding(now griffin.Progress) {
	switch now.Phase {
	case "verify":
		p.show(now.Phase, now.Done, now.Total, sizeOf(now.Done))
	case "read", "merge":
		p.indexing(now)
	case "query":
		p.show(now.Phase, now.Done, now.Total, count(now.Done)+" queries")
	default:
		p.show(now.Phase, now.Done, now.Total, count(now.Done)+" documents and postings")
	}
}
