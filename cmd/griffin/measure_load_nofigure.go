//go:build nolab

package main

// checkFigure returns an error if a figure is requested: this build cannot draw.
func checkFigure(path string) error {
	if path != "" {
		return usagef("--svg: built without plots: with the build tag nolab")
	}
	return nil
}

// drawLoad is not called: checkFigure returns an error first.
func drawLoad(*console, string, *loadResult) error { return nil }
