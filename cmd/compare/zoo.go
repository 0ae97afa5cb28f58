package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/pkg/errors"
)

// zooRow is one stream's speed and memory beside the plain transformer's of the same
// shape, as bench -zoo -json writes it.
type zooRow struct {
	Name          string   `json:"name"`
	Shape         string   `json:"shape"`
	RelativeTime  *float64 `json:"relative_time"`  // of a training step
	RelativeFLOPs *float64 `json:"relative_flops"` // a token
	RelativeBytes *float64 `json:"relative_bytes"` // that a step's ops read and write
	PeakMB        *float64 `json:"peak_mb"`        // of the process
}

// readZoo reads the rows: an array, or an object's "zoo". A missing file has none.
func readZoo(path string) ([]zooRow, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Wrap(err, "-zoo")
	}
	var file struct{ Zoo []zooRow }
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(text, &file.Zoo)
	} else {
		err = json.Unmarshal(text, &file)
	}
	return file.Zoo, errors.Wrapf(err, "-zoo: %s: want what bench -zoo -json writes", path)
}
