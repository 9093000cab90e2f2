package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// pdfTimeout bounds the conversion of one file.
const pdfTimeout = 2 * time.Minute

// convertPDF runs Options.PDFToText, which gets the file on its standard input: the program pdftotext of
// poppler, or one with its arguments.
func convertPDF(r *reader, in input, content []byte) (converted, error) {
	program := r.opts.PDFToText
	if program == "" {
		return converted{}, &skipError{skippedPDF}
	}
	ctx, cancel := context.WithTimeout(context.Background(), pdfTimeout)
	defer cancel()
	out, errs := limitedBuffer{limit: r.opts.MaxRecordBytes}, limitedBuffer{limit: 4 << 10}
	cmd := exec.CommandContext(ctx, program, "-q", "-enc", "UTF-8", "-", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(content), &out, &errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case out.full:
		return converted{}, fmt.Errorf("%s: %w of %d bytes: %w", program, errTooLarge, out.limit, base.ErrBadInput)
	case ctx.Err() != nil:
		return converted{}, fmt.Errorf("%s needs more than %v: %w", program, pdfTimeout, base.ErrBadInput)
	case err != nil:
		if message := strings.TrimSpace(errs.String()); message != "" {
			err = fmt.Errorf("%w: %s", err, strings.ReplaceAll(message, "\n", "; "))
		}
		return converted{}, fmt.Errorf("%s: %w: %w", program, err, base.ErrBadInput)
	}
	text := strings.ReplaceAll(out.String(), "\f", "\n")
	return converted{title: pdfTitle(content), text: text}, nil
}

// pdfTitle finds the title that is not compressed or encrypted in a file; "" for none. It is of printable ASCII.
func pdfTitle(content []byte) string {
	i := bytes.LastIndex(content, []byte("/Title ("))
	if i < 0 {
		i = bytes.LastIndex(content, []byte("/Title("))
	}
	if i < 0 {
		return ""
	}
	_, rest, _ := bytes.Cut(content[i:], []byte("("))
	title, _, ok := bytes.Cut(rest[:min(len(rest), maxTitleBytes)], []byte(")"))
	if !ok || bytes.ContainsFunc(title, func(c rune) bool { return c < ' ' || c > '~' || c == '\\' || c == '(' }) {
		return ""
	}
	return string(title)
}

// limitedBuffer is an error when more is written. It has no ReadFrom, which would not know the limit.
type limitedBuffer struct {
	buffer bytes.Buffer
	limit  int
	full   bool
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.buffer.Len()+len(p) > b.limit {
		b.full = true
		return 0, errors.New("too much output")
	}
	return b.buffer.Write(p)
}

func (b *limitedBuffer) String() string { return b.buffer.String() }
