package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/watch"
)

type watchOptions struct {
	indexOptions
	following following
	server    serverFlag
}

// following is how folders are followed.
type following struct {
	poll          time.Duration
	once          bool
	recheck       bool
	changeFolders bool
	allowEmpty    bool
	state         string
}

func newWatchCommand(a *app) *cobra.Command {
	o := watchOptions{indexOptions: indexOptions{memory: defaultWriterMemory}}
	c := &cobra.Command{
		Use:   "watch FOLDER… --out INDEX",
		Short: "Follow folders: keep an index in step with their files",
		Long: `Watch reads the files of folders as griffin index does, and follows them until
Ctrl-C: added, changed and removed files become additions, replacements and
deletions in the index, which searches see within about a second. The index is made
if there is none; the flags for its settings apply only then. Other writers are
locked out meanwhile; searches and servers go on.

What came from which file is kept in the folder "watch" of the index, so that the
next start finds what changed in the meantime. A file that cannot be read is
reported and keeps its documents. The documents of a folder stay, too, if it is
missing, has no files any more, or is on another device without most of its files:
it may not be mounted. With --allow-empty only a missing folder keeps them.

The system reports changes; a scan every minute finds the others, such as those of
files that are linked from other places. For network file systems, which report
none, --poll scans more often. With --server, INDEX is the name of an index on a
running server.`,
		Example: `  griffin watch ~/notes --out notes.idx
  griffin watch ~/notes --out notes.idx --once   # bring it up to date and end
  griffin watch /mnt/share --out share.idx --poll 10s
  griffin watch ~/notes --out notes --server http://127.0.0.1:7280`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), &o, cmd.Flags(), args)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "folder of the index (required)")
	f.DurationVar(&o.following.poll, "poll", 0, "scan the folders at this interval, such as 5s, in place of events of the system")
	f.BoolVar(&o.following.once, "once", false, "bring the index up to date and end")
	f.BoolVar(&o.following.recheck, "recheck", false, "compare what is known of the files with the index first")
	f.BoolVar(&o.following.changeFolders, "change-folders", false, "follow other folders than before; documents of files that are in none of them are deleted")
	f.BoolVar(&o.following.allowEmpty, "allow-empty", false, "delete the documents of a folder that has no files any more, or is on another device without most of them")
	f.StringVar(&o.following.state, "state", "", "`FOLDER` for what came from which file (default: in the index; with --server, in ~/.local/state/griffin)")
	o.registerSettings(f)
	o.registerFormat(f)
	f.Var(&o.memory, "memory", "memory for documents that are not in a segment yet, such as 512M or 4G")
	f.BoolVar(&o.notes.verbose, "verbose", false, "list also the files that are read at the start")
	o.server.register(f)
	_ = c.MarkFlagRequired("out")
	c.MarkFlagsMutuallyExclusive("positions", "no-positions")
	return c
}

func (o *watchOptions) check(flags *pflag.FlagSet, folders []string) error {
	if o.server.url != "" {
		if name, given := changedSetting(flags); given {
			return usagef("--%s does not apply with --server: the settings are the server's", name)
		}
		if err := o.server.check(flags, "memory"); err != nil {
			return err
		}
	}
	if o.following.poll < 0 || flags.Changed("poll") && o.following.poll < 10*time.Millisecond {
		return usagef("--poll %s: must be at least 10ms", o.following.poll)
	}
	if err := errors.Join(o.checkInput(flags), o.memory.check()); err != nil {
		return err
	}
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return usagef("%s is not a folder; add files with: griffin add %s %s", folder, o.out, folder)
		}
	}
	return nil
}

func (a *app) watch(ctx context.Context, o *watchOptions, flags *pflag.FlagSet, folders []string) error {
	if err := o.check(flags, folders); err != nil {
		return err
	}
	err := a.follow(ctx, o, flags, folders)
	if err != nil && o.server.url == "" {
		return ofDisk(o.out, o.ofRemoved(err))
	}
	return err
}

// ofRemoved is one error, in place of those of the parts, if the folder of the index with the state is gone.
func (o *watchOptions) ofRemoved(err error) error {
	if errors.Is(err, base.ErrRemoved) && o.stateInIndex() {
		return fmt.Errorf("%s: %w", o.out, base.ErrRemoved)
	}
	return err
}

func (a *app) follow(ctx context.Context, o *watchOptions, flags *pflag.FlagSet, folders []string) error {
	r := &watchReport{console: a.console, options: o, folders: folders, began: time.Now(), bar: a.newProgress()}
	defer r.bar.close()
	target, in, err := a.openWatched(ctx, o, flags, folders)
	if err != nil {
		return err
	}
	in.Format, in.IDField, in.TitleField, in.TextField = o.files.Format, o.files.IDField, o.files.TitleField, o.files.TextField
	in.PDFToText = o.files.PDFToText
	in.ExtraFields = o.files.ExtraFields
	state, err := o.stateFolder(folders)
	if err == nil && !o.stateInIndex() {
		err = os.MkdirAll(filepath.Dir(state), 0o777)
	}
	if err != nil {
		return errors.Join(err, closeTarget(ctx, target))
	}
	w, err := watch.Open(ctx, vfs.OS, state, target, watch.Options{
		Folders: folders, ChangeFolders: o.following.changeFolders, AllowEmpty: o.following.allowEmpty, Recheck: o.following.recheck, Corpus: in, Poll: o.following.poll, Once: o.following.once,
		Report: r.event, Progress: r.progress,
	})
	if err != nil {
		if errors.Is(err, watch.ErrFolders) {
			err = hintedError{usageError{err}, "name the same folders, or follow these and delete the documents of others with --change-folders"}
		}
		return errors.Join(err, closeTarget(ctx, target))
	}
	err = w.Run(ctx)
	if err == nil && !r.ready && ctx.Err() != nil {
		err = hintedError{ctx.Err(), "not all files were read: the same command goes on from there"}
	}
	docs, files := w.Docs()
	r.end(docs, files, o.ofRemoved(err))
	return errors.Join(err, w.Close())
}

func closeTarget(ctx context.Context, t watch.Target) error {
	_, err := t.Close(context.WithoutCancel(ctx))
	return err
}

// openWatched opens the index, or makes it. in has the options of a corpus that depend on it.
func (a *app) openWatched(ctx context.Context, o *watchOptions, flags *pflag.FlagSet, folders []string) (t watch.Target, in corpus.Options, err error) {
	if o.server.url != "" {
		s, err := o.server.open(o.out)
		return &watchedServer{serverIndex: s}, in, err
	}
	ix, err := a.openForWriting(o.out, &o.indexOptions, flags, folders)
	if err != nil {
		return nil, in, err
	}
	local := &watchedIndex{indexSink{index: ix, memory: int64(o.memory)}}
	if err := local.open(ctx); err != nil {
		return nil, in, errors.Join(err, ix.Close())
	}
	return local, local.input(&o.indexOptions), nil
}

func (o *watchOptions) stateInIndex() bool { return o.following.state == "" && o.server.url == "" }

// stateFolder is beside the index, so that it goes where the index goes.
func (o *watchOptions) stateFolder(folders []string) (string, error) {
	switch {
	case o.following.state != "":
		return o.following.state, nil
	case o.stateInIndex():
		return filepath.Join(o.out, "watch"), nil
	}
	home := os.Getenv("XDG_STATE_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", usageError{fmt.Errorf("name a folder with --state: %w", err)}
		}
		home = filepath.Join(user, ".local", "state")
	}
	return filepath.Join(home, "griffin", "watch", stateName(o.server.url, o.out, folders)), nil
}

// watchEvent is a line of the JSON of "griffin watch".
type watchEvent struct {
	Event    string    `json:"event"` // file, removed, ready, error, delayed, limited or end
	Time     time.Time `json:"time"`
	File     string    `json:"file,omitempty"`
	Added    int64     `json:"added"`
	Replaced int64     `json:"replaced"`
	Deleted  int64     `json:"deleted"`
	Files    int64     `json:"files,omitempty"`
	Docs     int64     `json:"docs,omitempty"`
	TookNS   int64     `json:"took_ns,omitempty"`
	Error    string    `json:"error,omitempty"`
}

// watchReport prints what happens.
type watchReport struct {
	*console
	options *watchOptions
	folders []string
	began   time.Time
	bar     *progress
	ready   bool
	failed  int64 // events of the kind Failed
	sum     watchEvent
}

func (r *watchReport) progress(done, total int64) {
	if !r.ready {
		r.bar.show("read", done, total, plural(done, "file"))
	}
}

func (r *watchReport) event(e watch.Event) {
	r.sum.Added, r.sum.Replaced, r.sum.Deleted = r.sum.Added+e.Added, r.sum.Replaced+e.Replaced, r.sum.Deleted+e.Deleted
	line := watchEvent{Event: string(e.Kind), File: e.File, Added: e.Added, Replaced: e.Replaced, Deleted: e.Deleted}
	switch e.Kind {
	case watch.Ready:
		r.ready = true
		r.bar.close()
		line.Added, line.Replaced, line.Deleted, line.Files, line.Docs = r.sum.Added, r.sum.Replaced, r.sum.Deleted, e.Files, e.Docs
		line.TookNS = int64(time.Since(r.began))
		if !r.json {
			r.printReady(&line)
		}
	case watch.Indexed, watch.Removed:
		if !r.ready && !r.options.notes.verbose {
			return
		}
		if !r.json && !r.quiet {
			r.bar.close()
			r.printf("%s: %s\n", corpus.Location{File: e.File}, changed(&line))
		}
	default:
		if e.Kind == watch.Failed {
			r.failed++
		}
		line.Error = base.Message(e.Err)
		if errors.Is(e.Err, watch.ErrEmptied) {
			line.Error += "; --allow-empty deletes them"
		}
		if !r.json {
			r.printProblem(&e, line.Error)
		}
	}
	r.line(&line)
}

func (r *watchReport) line(line *watchEvent) {
	if !r.json {
		return
	}
	line.Time = time.Now()
	text, err := json.Marshal(line)
	if err == nil {
		_, err = r.out.Write(append(text, '\n'))
	}
	if err != nil && r.outErr == nil {
		r.outErr = err
	}
}

// changed describes the changes of a file.
func changed(e *watchEvent) string {
	var parts []string
	for _, part := range []struct {
		n    int64
		what string
	}{{e.Added, "added"}, {e.Replaced, "replaced"}, {e.Deleted, "deleted"}} {
		switch {
		case part.n == 0:
		case len(parts) == 0 && e.Added+e.Replaced+e.Deleted == 1:
			parts = append(parts, part.what)
		case len(parts) == 0:
			parts = append(parts, plural(part.n, "document")+" "+part.what)
		default:
			parts = append(parts, count(part.n)+" "+part.what)
		}
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

func (r *watchReport) printReady(line *watchEvent) {
	sum := "no changes"
	if line.Added+line.Replaced+line.Deleted > 1 {
		sum = changed(line)
	} else if line.Added+line.Replaced+line.Deleted == 1 {
		sum = "1 document " + changed(line)
	}
	r.printf("%s in %s → %s: %s of %s\n", sum, took(time.Since(r.began)), r.options.out, plural(line.Docs, "document"), plural(line.Files, "file"))
	if r.failed > 0 {
		r.notef("%s above: these files, folders or records are not in the index, or as they were before", plural(r.failed, "problem"))
	}
	if !r.options.following.once {
		r.notef("following %s; Ctrl-C ends", strings.Join(r.folders, ", "))
	}
}

func (r *watchReport) printProblem(e *watch.Event, message string) {
	switch {
	case e.Kind == watch.Delayed:
		message = "cannot write to the index, which is tried again: " + message
	case e.File != "" && !namesFile(message, e.File):
		message = e.File + ": " + message
	}
	r.bar.above("griffin: %s", message)
}

// namesFile reports whether an error names a file already, as a place ("a.csv:3: …") or after an operation ("open a.csv: …").
func namesFile(message, file string) bool {
	return strings.HasPrefix(message, file+":") || strings.Contains(message, " "+file+":")
}

func (r *watchReport) end(docs, files int64, err error) {
	r.bar.close()
	line := watchEvent{Event: "end", Added: r.sum.Added, Replaced: r.sum.Replaced, Deleted: r.sum.Deleted, Files: files, Docs: docs, TookNS: int64(time.Since(r.began))}
	if err != nil {
		line.Error = base.Message(err)
	}
	r.line(&line)
	if err == nil && !r.options.following.once {
		r.notef("\rended after %s: %s; the index is up to date with what was read", took(time.Since(r.began)), changed(&line))
	}
}
