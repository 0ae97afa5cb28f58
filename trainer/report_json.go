package trainer

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/residua-go/residua/figure"
)

// JSONLines is the Reporter for scripts: it writes each step's metrics as a line of JSON, as in
// metrics.jsonl, and warnings to a writer of their own.
type JSONLines struct {
	Silent
	w, warnings io.Writer
}

// NewJSONLines writes metrics to w and warnings, as plain lines, to warnings.
func NewJSONLines(w, warnings io.Writer) *JSONLines { return &JSONLines{w: w, warnings: warnings} }

// Step writes the line.
func (j *JSONLines) Step(m Metrics) { _ = json.NewEncoder(j.w).Encode(m) }

// Warn writes the line to where warnings go.
func (j *JSONLines) Warn(line string) { fmt.Fprintln(j.warnings, figure.Visible(warning(line))) }
