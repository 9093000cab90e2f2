// Command griffin indexes documents and answers queries over them.
//
// Run "griffin help" for the list of commands, and "griffin COMMAND --help"
// for each one's flags and examples.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	os.Exit(realMain(os.Args[1:], terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
	}))
}

// realMain runs one command and returns its exit code. The first interrupt
// cancels the command's context, so that it can leave everything in order;
// after that the default handling is back, and a second one ends the process.
func realMain(args []string, t terminal) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	app := &app{terminal: t}
	root := newRootCommand(app)
	root.SetArgs(args)
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	if errors.As(err, &usage) && slices.Contains(args, "--json") {
		app.json = true // flags after the one that is wrong were not read
	}
	return app.report(cmd.CommandPath(), err)
}
