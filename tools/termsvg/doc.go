// Command termsvg converts terminal output to a picture, an SVG file, with its colours.
// make pictures uses it.
//
//	griffin demo --color always | termsvg -command 'make demo' >demo.svg
//
// It supports text, line feeds, and the SGR sequences for bold, dim and the 16 colours. It
// does not support cursor movement.
package main
