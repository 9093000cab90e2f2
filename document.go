package griffin

// Document is one document, as it is added and as it is returned.
type Document struct {
	// ID is the caller's name for it: not empty, unique in the index. Adding a
	// document with the ID of an earlier one replaces that one.
	ID string `json:"id"`
	// Title and Text are searched together, as the default field.
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
	// Fields are further texts. They are stored; those that the index declares
	// (WithFields) can be searched with name:word.
	Fields []Field `json:"fields,omitempty"`
}

// Field is a named text of a document.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
