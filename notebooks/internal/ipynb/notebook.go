// Package ipynb reads, writes and compares Jupyter notebooks (nbformat 4.5).
package ipynb

import (
	"encoding/json"
	"os"

	"github.com/pkg/errors"
)

// Notebook is a notebook file. Its fields are in the order in which Jupyter writes them.
type Notebook struct {
	Cells       []Cell         `json:"cells"`
	Metadata    map[string]any `json:"metadata"`
	Format      int            `json:"nbformat"`
	FormatMinor int            `json:"nbformat_minor"`
}

// Types of a Cell.
const (
	CellCode     = "code"
	CellMarkdown = "markdown"
)

// Cell is one cell. Only code cells have an execution count and outputs.
type Cell struct {
	Attachments    json.RawMessage `json:"attachments,omitempty"`
	Type           string          `json:"cell_type"`
	ExecutionCount json.RawMessage `json:"execution_count,omitempty"` // a number, or null before the cell has run
	ID             string          `json:"id"`
	Metadata       map[string]any  `json:"metadata"`
	Outputs        []Output        `json:"outputs,omitzero"`
	Source         Text            `json:"source"`
}

// Types of an Output.
const (
	OutputStream  = "stream"         // Name and Text
	OutputError   = "error"          // ErrorName and ErrorValue
	OutputDisplay = "display_data"   // Data
	OutputResult  = "execute_result" // Data of the cell's last expression
)

// Output is one output of a code cell.
type Output struct {
	Data           Bundle          `json:"data,omitempty"`
	ErrorName      string          `json:"ename,omitempty"`
	ErrorValue     string          `json:"evalue,omitempty"`
	ExecutionCount json.RawMessage `json:"execution_count,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitzero"`
	Name           string          `json:"name,omitempty"` // stdout or stderr
	Type           string          `json:"output_type"`
	Text           Text            `json:"text,omitempty"`
	Traceback      []string        `json:"traceback,omitempty"`
}

// Read reads a notebook file.
func Read(path string) (*Notebook, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Wrap(err, "notebook")
	}
	n := &Notebook{}
	if err := json.Unmarshal(raw, n); err != nil {
		return nil, errors.Wrapf(err, "%s: want a notebook in JSON", path)
	}
	if n.Format != 4 {
		return nil, errors.Errorf("%s: want nbformat 4, got %d; save it with a current Jupyter", path, n.Format)
	}
	return n, nil
}

// Bytes returns the file's text, as Jupyter would write it: one space of indent, sorted keys,
// text as a list of lines.
func (n *Notebook) Bytes() ([]byte, error) { return encoded(n, " ") }

// Write writes a notebook file.
func (n *Notebook) Write(path string) error {
	text, err := n.Bytes()
	if err != nil {
		return err
	}
	return errors.Wrap(os.WriteFile(path, text, 0o644), "notebook")
}
