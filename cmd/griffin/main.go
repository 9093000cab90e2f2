// Command griffin indexes documents and answers queries over them.
//
// Run "griffin help" for the list of commands, and "griffin COMMAND --help" for the flags and
// examples of one command.
//
// The files of a group of commands share a prefix, search_, serve_, measure_ or research_, as
// in the help; other files serve all commands.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/vfs"
)

func main() {
	os.Exit(realMain(os.Args[1:], terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
	}))
}

// realMain runs one command and returns its exit code. The first interrupt cancels the
// command's context, so that it can clean up; a second one ends the process.
func realMain(args []string, t terminal) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	app := &app{console: &console{terminal: t}}
	root := newRootCommand(app)
	root.SetArgs(args)
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	cmd, err := execute(ctx, root)
	var usage usageError
	if errors.As(err, &usage) && slices.Contains(args, "--json") {
		app.json = true // flags after the wrong one were not parsed
	}
	return app.report(cmd.CommandPath(), err)
}

// An index file that was truncated while in use is an error.
func execute(ctx context.Context, root *cobra.Command) (cmd *cobra.Command, err error) {
	cmd = root
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	return root.ExecuteContextC(ctx)
}
