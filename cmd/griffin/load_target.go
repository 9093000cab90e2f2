package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/trec"
)

// loadTarget is what load is put on.
type loadTarget interface {
	load.Target
	// read tells the state of the process that answers.
	read(ctx context.Context) (load.Reading, error)
	// tell adds to a result what the target knows of itself.
	tell(r *loadResult)
	close()
}

// inProcessFlags are of an index that is searched in this process.
type inProcessFlags struct {
	deviceFlags
	cache     cacheFlag
	resident  residentFlag
	admission admissionFlags
	results   resultCacheFlag
}

func (p *inProcessFlags) register(f *pflag.FlagSet) {
	p.deviceFlags.register(f, "cpu")
	p.cache.register(f)
	p.resident.register(f)
	p.admission.register(f, 0)
	p.results.register(f, 0)
}

func (p *inProcessFlags) check() error {
	return errors.Join(p.deviceFlags.check(), p.resident.check(&p.deviceFlags), p.admission.check())
}

// given returns those of the flags that the command line has.
func (p *inProcessFlags) given(all *pflag.FlagSet) (names []string) {
	var own pflag.FlagSet
	new(inProcessFlags).register(&own)
	own.VisitAll(func(f *pflag.Flag) {
		if all.Changed(f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// isAddress reports whether a target is a server.
func isAddress(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// loadTarget opens what a command names: a server by its address, or an index.
func (a *app) loadTarget(ctx context.Context, o *loadOptions, name string, texts []string, mode griffin.Mode) (loadTarget, error) {
	if isAddress(name) {
		return o.httpTarget(name, texts, mode)
	}
	if host, _, err := net.SplitHostPort(strings.TrimSuffix(name, "/")); err == nil && host != "" {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("%s: there is no such index; the address of a server begins with http://: http://%s", name, name)
		}
	}
	p := &o.inProcess
	ix, err := griffin.Open(name, append(p.openOptions(), append(p.admission.options(), p.cache.option(), p.results.option())...)...)
	if err != nil {
		return nil, err
	}
	if err := a.calibrateIndex(ctx, &p.deviceFlags, ix); err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	t := &indexTarget{ix: ix, texts: texts, options: []griffin.SearchOption{griffin.WithK(o.k), griffin.WithMode(mode), griffin.WithIDsOnly()}}
	if !o.syntax {
		t.options = append(t.options, griffin.WithPlainWords())
	}
	err = a.warm(ctx, p.resident, mode == griffin.ModeSaat, func(ctx context.Context, w exec.WarmOptions) (lists, total int64, err error) {
		r, err := ix.Warm(ctx, w)
		return r.Lists, r.Total, err
	})
	if err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	shareProcessors()
	a.noteDevices(ix, p.device)
	return t, nil
}

// httpTarget is a server.
type httpTarget struct{ *load.HTTP }

// maxConnections to a server are kept.
const maxConnections = 1024

func (o *loadOptions) httpTarget(address string, texts []string, mode griffin.Mode) (loadTarget, error) {
	if !o.syntax {
		plain := make([]string, len(texts))
		for i, text := range texts {
			plain[i] = plainText(text)
		}
		texts = plain
	}
	h, err := load.NewHTTP(address, texts, url.Values{"k": {strconv.Itoa(o.k)}, "mode": {mode.String()}}, maxConnections)
	if err != nil {
		return nil, usageError{err}
	}
	return httpTarget{h}, nil
}

// plainText returns a query in the language of queries that asks for the words of a
// text, whatever marks they have. A vector of weights stays what it is.
func plainText(text string) string {
	if query.IsWeights(text) {
		return text
	}
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = (&query.Term{Text: w, Boost: 1}).String()
	}
	return strings.Join(words, " ")
}

func (t httpTarget) read(ctx context.Context) (load.Reading, error) { return t.Read(ctx) }
func (t httpTarget) tell(*loadResult)                               {}
func (t httpTarget) close()                                         { t.Close() }

// indexTarget is an index in this process.
type indexTarget struct {
	ix      *griffin.Index
	texts   []string
	options []griffin.SearchOption
}

// check returns the first fault of the queries, which is better told before the load than
// counted in it.
func (t *indexTarget) check(topics []trec.Topic) error {
	stats, err := t.ix.Stats()
	if err != nil {
		return err
	}
	var fields []string
	for i := range stats.Fields {
		if name := stats.Fields[i].Name; name != "" { // else the default field
			fields = append(fields, name)
		}
	}
	for _, topic := range topics {
		if query.IsWeights(topic.Title) {
			continue
		}
		if _, err := query.Parse(topic.Title, fields); err != nil {
			return fmt.Errorf("query %s: %w", topic.ID, err)
		}
	}
	return nil
}

// Do implements load.Target.
func (t *indexTarget) Do(ctx context.Context, query int) (load.Outcome, error) {
	_, err := t.ix.Search(ctx, t.texts[query], t.options...)
	var overload *griffin.Overload
	switch {
	case err == nil:
		return load.Answered, nil
	case errors.As(err, &overload) && overload.Reason == sched.Expired:
		return load.Expired, err
	case errors.As(err, &overload):
		return load.Overloaded, err
	case errors.Is(err, griffin.ErrBadInput): // which mode saat without its lists is, too
		return load.Failed, &load.Refusal{Err: err, OfQuery: !errors.Is(err, griffin.ErrNoImpacts)}
	}
	return load.Failed, err
}

func (t *indexTarget) read(context.Context) (load.Reading, error) {
	r := load.ReadProcess()
	r.Errors += t.ix.DispatchStats().Bugs
	s, _ := t.ix.GPUStats()
	for i := range s.Devices {
		d := &s.Devices[i]
		r.DeviceBytes += d.UsedBytes
		r.PinnedBytes += d.Host.SizeBytes
		r.Errors += d.Errors
		if d.Lost != "" {
			r.Errors++
		}
	}
	return r, nil
}

func (t *indexTarget) tell(r *loadResult) {
	dispatch := t.ix.DispatchStats()
	r.Dispatch = &dispatch
	if s, used := t.ix.GPUStats(); used {
		r.GPU = &s
	}
	if s, used := t.ix.ResultCacheStats(); used {
		r.ResultCache = &s
	}
}

func (t *indexTarget) close() { _ = t.ix.Close() }
