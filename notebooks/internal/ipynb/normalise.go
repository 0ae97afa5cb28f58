package ipynb

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Normalise removes from a notebook everything that changes from run to run without meaning (times,
// versions, a viewer's state), so that the difference of two commits shows real changes.
func (n *Notebook) Normalise() {
	keep(n.Metadata, "kernelspec", "language_info", settingsKey)
	if info, ok := n.Metadata["language_info"].(map[string]any); ok {
		keep(info, "file_extension", "name")
	}
	count := 0
	for i := range n.Cells {
		c := &n.Cells[i]
		keep(c.Metadata, "tags", settingsKey)
		if c.Type != CellCode {
			continue
		}
		if strings.TrimSpace(string(c.Source)) != "" {
			count++
			c.ExecutionCount = json.RawMessage(strconv.Itoa(count))
		}
		c.normaliseOutputs()
	}
}

// normaliseOutputs joins the pieces written to each stream.
func (c *Cell) normaliseOutputs() {
	outputs := []Output{}
	for _, o := range c.Outputs {
		keep(o.Metadata, mimePNG)
		if o.Type == OutputResult {
			o.ExecutionCount = c.ExecutionCount
		}
		if picture, ok := o.Data[mimePNG]; ok {
			o.Data[mimePNG] = Text(strings.TrimSpace(string(picture)))
		}
		if last := len(outputs) - 1; o.Type == OutputStream && last >= 0 && outputs[last].Type == OutputStream && outputs[last].Name == o.Name {
			outputs[last].Text += o.Text
			continue
		}
		outputs = append(outputs, o)
	}
	c.Outputs = outputs
}

// keep removes all keys but the given ones.
func keep(m map[string]any, keys ...string) {
	maps.DeleteFunc(m, func(key string, _ any) bool { return !slices.Contains(keys, key) })
}
