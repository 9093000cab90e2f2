package corpus

import "strings"

// markdownText returns the title (a line "title: …" in front matter between "---" lines at the
// start, otherwise the first heading, or "") and the text without it and front matter.
func markdownText(src string) (title, text string) {
	body := src
	if matter, rest, ok := frontMatter(src); ok {
		for line := range strings.Lines(matter) {
			if value, ok := strings.CutPrefix(line, "title:"); ok {
				title = strings.Trim(strings.TrimSpace(value), `"'`)
			}
		}
		body = rest
	}
	if title != "" {
		return title, body
	}
	heading, start, end := firstHeading(body)
	if heading == "" {
		return "", body
	}
	return heading, body[:start] + body[end:]
}

// frontMatter splits off a leading block of fields (YAML) between two lines "---"; text between
// horizontal rules is none.
func frontMatter(src string) (matter, rest string, ok bool) {
	first, after, ok := strings.Cut(src, "\n")
	if !ok || strings.TrimRight(first, " \r") != "---" {
		return "", src, false
	}
	end := 0
	for line := range strings.Lines(after) {
		if strings.TrimRight(line, " \r\n") == "---" {
			return after[:end], after[end+len(line):], startsWithKey(after[:end])
		}
		end += len(line)
	}
	return "", src, false
}

// startsWithKey reports whether the first line that is neither blank nor a comment
// begins with "key:".
func startsWithKey(matter string) bool {
	for line := range strings.Lines(matter) {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		return ok && key != "" && !strings.ContainsAny(key, " \t") && (value == "" || value[0] == ' ' || value[0] == '\t')
	}
	return false
}

func closedHeading(text string) string {
	text = strings.TrimSpace(text)
	open := strings.TrimRight(text, "#")
	if trimmed := strings.TrimRight(open, " \t"); trimmed != open || open == "" {
		return trimmed
	}
	return text
}

// firstHeading finds the first "# heading", or line underlined with = or -, outside of code
// blocks; its source is src[start:end].
func firstHeading(src string) (heading string, start, end int) {
	fence := "" // of the current code block
	previous, previousStart := "", 0
	at := 0
	for raw := range strings.Lines(src) {
		line := strings.TrimRight(raw, " \t\r\n")
		bare := strings.TrimLeft(line, " ")
		indented := len(line)-len(bare) > 3
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
			line = ""
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fence = bare[:3]
			line = ""
		case indented:
			line = ""
		case strings.HasPrefix(bare, "#"):
			if text := strings.TrimLeft(bare, "#"); len(bare)-len(text) <= 6 && (text == "" || text[0] == ' ' || text[0] == '\t') {
				if text = closedHeading(text); text != "" {
					return text, at, at + len(raw)
				}
			}
		case previous != "" && bare != "" && (strings.Trim(bare, "=") == "" || len(bare) > 1 && strings.Trim(bare, "-") == ""):
			return strings.TrimSpace(previous), previousStart, at + len(raw)
		}
		previous, previousStart = line, at
		at += len(raw)
	}
	return "", 0, 0
}
