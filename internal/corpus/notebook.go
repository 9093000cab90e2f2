package corpus

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
)

// notebook is the part of Jupyter's format that has text. Outputs are left out.
type notebook struct {
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {     // of version 3
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title        string `json:"title"`
		LanguageInfo struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

type notebookCell struct {
	Kind   string       `json:"cell_type"`
	Source notebookText `json:"source"`
	// Of code in version 3.
	Input    notebookText `json:"input"`
	Language string       `json:"language"`
}

// notebookText is a text, or a list of its lines.
type notebookText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *notebookText) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err == nil {
		*t = notebookText(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// convertNotebook has the sources of all cells. The title is the first heading.
func convertNotebook(_ *reader, _ input, content []byte) (converted, error) {
	content, _ = decodeText(content)
	var n notebook
	if err := json.Unmarshal(content, &n); err != nil {
		return converted{}, damaged("notebook", err)
	}
	cells := n.Cells
	for _, w := range n.Worksheets {
		cells = append(cells, w.Cells...)
	}
	if cells == nil {
		return converted{}, damaged("notebook", errors.New("it has no cells"))
	}
	c := converted{title: n.Metadata.Title}
	language := cmp.Or(n.Metadata.LanguageInfo.Name, n.Metadata.Kernel.Language)
	var text strings.Builder
	for _, cell := range cells {
		source := string(cell.Source) + string(cell.Input)
		switch {
		case c.title != "":
		case cell.Kind == "markdown":
			c.title, source = markdownText(source)
		case cell.Kind == "heading": // of version 3
			c.title, source = strings.Join(strings.Fields(source), " "), ""
		}
		if source = strings.TrimSpace(source); source != "" {
			text.WriteString(source)
			text.WriteString("\n\n")
		}
		if language == "" && cell.Kind == "code" {
			language = cell.Language
		}
	}
	c.text = text.String()
	if language != "" {
		c.extra = append(c.extra, Field{"language", language})
	}
	return c, nil
}
