package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ErrChanged is the error of Live.BuildImpacts if the index changed while it ran.
var ErrChanged = errors.New("the index changed meanwhile, so the impact-ordered lists are not stored; searches compute those that they need")

// BuildImpacts is Index.BuildImpacts for the visible documents, which it commits. With nil opts it keeps the settings, and
// returns nil if there are none or the last commit has its lists. Publish and Flush go on; merges of the visible segments
// wait. If the index changes before the end, the error is ErrChanged: the lists would be of a former commit. Close ends it with
// an error that wraps base.ErrClosed.
func (l *Live) BuildImpacts(ctx context.Context, opts *ImpactOptions) (meta *impact.Meta, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := l.merging.all.take(ctx); err != nil {
		return nil, err
	}
	defer l.merging.all.giveBack()
	ctx, end, err := l.beginImpacts(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	defer func() {
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errLiveClosed) {
			err = l.impactsError(errLiveClosed)
		}
	}()
	settings, err := l.setImpacts(ctx, opts)
	if settings == nil || err != nil {
		return nil, err
	}
	held, err := l.hold() // merges change the index, too
	if err != nil {
		return nil, err
	}
	defer l.unhold()
	if err := l.awaitMerges(ctx, held); err != nil {
		return nil, err
	}
	if _, err := l.Flush(ctx); err != nil {
		return nil, err
	}
	snapshot, err := l.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	if opts == nil && !snapshot.lacksImpacts() {
		return nil, nil
	}
	name := impactsName(snapshot.Generation)
	if !l.keepImpacts(snapshot.Generation) {
		return nil, l.impactsError(ErrChanged)
	}
	defer func() {
		l.made(name)
		l.made(impactsTemp)
	}()
	b := &impactBuild{snapshot: snapshot, settings: settings}
	if opts != nil {
		b.progress = opts.Progress
	}
	if meta, err = b.write(ctx, l.ix); err != nil {
		return nil, l.impactsError(err)
	}
	if err := l.showImpacts(ctx, snapshot); err != nil {
		return nil, l.impactsError(errors.Join(err, ignoreMissing(l.ix.fs.Remove(l.ix.path(name)))))
	}
	return meta, nil
}

func (l *Live) impactsError(err error) error {
	return fmt.Errorf("index %s: impact-ordered lists: %w", l.ix.dir, err)
}

// beginImpacts makes Close wait for end, and end the context.
func (l *Live) beginImpacts(ctx context.Context) (_ context.Context, end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, nil, errLiveClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l.merging.running++
	l.merging.stop = func() { cancel(errLiveClosed) }
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.merging.stop = nil
		cancel(nil)
		l.merging.ends()
	}, nil
}

// setImpacts makes the settings visible and returns them.
func (l *Live) setImpacts(ctx context.Context, opts *ImpactOptions) (*ImpactSettings, error) {
	if err := l.changing.take(ctx); err != nil {
		return nil, err
	}
	defer l.changing.giveBack()
	snapshot, err := l.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	now := snapshot.impacts.settings
	if opts == nil {
		return now, nil
	}
	settings, err := opts.settings(&snapshot.Options)
	if err != nil || now != nil && *now == *settings {
		return settings, err
	}
	next := l.ix.currentManifest().clone()
	next.Generation++
	next.Impacts = settings
	return settings, l.show(next, snapshot, func() {})
}

// keepImpacts keeps the files that a build of a generation writes; false: it is not the last commit, or not visible any more.
func (l *Live) keepImpacts(generation uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.durable.Generation != generation || l.ix.currentManifest().Generation != generation {
		return false
	}
	l.files.making[impactsName(generation)]++
	l.files.making[impactsTemp]++
	return true
}

// showImpacts lets searches open the lists that are in the file of a snapshot's generation now.
func (l *Live) showImpacts(ctx context.Context, snapshot *Snapshot) error {
	if err := l.changing.take(ctx); err != nil {
		return err
	}
	defer l.changing.giveBack()
	now := l.ix.currentManifest()
	if now.Generation != snapshot.Generation {
		return ErrChanged
	}
	return l.show(now.clone(), snapshot, func() {})
}
