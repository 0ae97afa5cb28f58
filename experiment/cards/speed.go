package cards

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/pkg/errors"
)

// Speed is a preset's speed and memory compared with those of the transformer of the same shape, as
// bench -zoo -json writes them.
type Speed struct {
	Name          string   `json:"name"`
	Shape         string   `json:"shape"`
	RelativeTime  *float64 `json:"relative_time"`  // of a training step
	RelativeFLOPs *float64 `json:"relative_flops"` // a token
	RelativeBytes *float64 `json:"relative_bytes"` // that a step's ops read and write
	PeakMB        *float64 `json:"peak_mb"`        // of the process
}

// ReadSpeeds reads a file of bench -zoo -json: an array, or an object's "zoo". A missing file has
// none.
func ReadSpeeds(path string) ([]Speed, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var file struct{ Zoo []Speed }
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(text, &file.Zoo)
	} else {
		err = json.Unmarshal(text, &file)
	}
	return file.Zoo, errors.Wrapf(err, "%s: want what bench -zoo -json writes", path)
}
