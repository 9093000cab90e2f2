// Foldptx folds the PTX of its standard input (package ptx). make kernels runs it.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/griffin-search/griffin/internal/gpu/ptx"
)

func main() {
	if err := fold(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "foldptx:", err)
		os.Exit(1)
	}
}

func fold(r io.Reader, w io.Writer) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if text, err = ptx.Fold(text); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
