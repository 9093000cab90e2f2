package gputest

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// codePlace matches an address within the library.
var codePlace = regexp.MustCompile(`\{pc 0x([0-9a-f]+)\}`)

// sourceLines returns "file:line" for an address in the library at path, with
// inlined calls: "a.cuh:5, called at b.cu:17", without lines of the emulator
// itself.
func sourceLines(path string, pc uint64) (string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		return "", err
	}
	reader := data.Reader()
	unit, err := reader.SeekPC(pc)
	if err != nil {
		return "", err
	}
	table, err := data.LineReader(unit)
	if err != nil {
		return "", err
	}
	if table == nil {
		return "", errors.New("no line table")
	}
	var entry dwarf.LineEntry
	if err := table.SeekPC(pc, &entry); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	calls, err := inlinedCalls(data, reader, pc)
	if err != nil {
		return "", err
	}
	places := []string{place(entry.File, entry.Line)}
	files := table.Files()
	for i := len(calls) - 1; i >= 0; i-- {
		if c := calls[i]; c.file < len(files) {
			places = append(places, place(files[c.file], c.line))
		}
	}
	kept := places[:0]
	for _, p := range places {
		if !strings.Contains(p, "internal/gpu/emulator/src/") {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", called at "), nil
}

func place(file *dwarf.LineFile, line int) string {
	if file == nil {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", filepath.Clean(file.Name), line)
}

// The call site of an inlined function.
type call struct{ file, line int }

// inlinedCalls returns the inlined calls around pc, the outermost first. reader
// is after the entry of the unit.
func inlinedCalls(data *dwarf.Data, reader *dwarf.Reader, pc uint64) ([]call, error) {
	var calls []call
	for depth := 0; depth >= 0; {
		entry, err := reader.Next()
		if err != nil || entry == nil {
			return calls, err
		}
		if entry.Tag == 0 {
			depth--
			continue
		}
		inside, err := holds(data, entry, pc)
		if err != nil {
			return nil, err
		}
		if inside && entry.Tag == dwarf.TagInlinedSubroutine {
			file, _ := entry.Val(dwarf.AttrCallFile).(int64)
			line, _ := entry.Val(dwarf.AttrCallLine).(int64)
			calls = append(calls, call{int(file), int(line)})
		}
		switch {
		case !entry.Children:
		case inside:
			depth = 0 // ignore everything outside of this entry
		default:
			reader.SkipChildren()
		}
	}
	return calls, nil
}

func holds(data *dwarf.Data, entry *dwarf.Entry, pc uint64) (bool, error) {
	if entry.Tag != dwarf.TagSubprogram && entry.Tag != dwarf.TagInlinedSubroutine && entry.Tag != dwarf.TagLexDwarfBlock {
		return false, nil
	}
	ranges, err := data.Ranges(entry)
	if err != nil {
		return false, err
	}
	for _, r := range ranges {
		if pc >= r[0] && pc < r[1] {
			return true, nil
		}
	}
	return false, nil
}
