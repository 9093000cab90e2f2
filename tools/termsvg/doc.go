// Command termsvg turns what a program wrote to a terminal into a picture of
// it, an SVG file, with its colours. make pictures uses it.
//
//	griffin demo --color always | termsvg -command 'make demo' >demo.svg
//
// It understands text, line feeds, and the SGR sequences for bold, dim and the
// 16 colours; it is no terminal emulator: nothing moves a cursor.
package main
