package trainer

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// ReadMetrics reads the steps from metrics.jsonl in a run folder. It stops at a torn line.
func ReadMetrics(dir string) ([]Metrics, error) {
	lines, err := readMetrics(filepath.Join(dir, metricsFile), math.MaxInt)
	return lines, errors.Wrap(err, "metrics")
}

// errEnough ends scanLines early.
var errEnough = errors.New("enough lines")

// scanLines calls each for every valid line of a metrics.jsonl whose step comes after that of
// the line before; raw includes the line break. damaged counts the other lines, except a last
// one without a line break, which a killed run leaves. A missing file has no lines.
func scanLines(path string, each func(raw []byte, m Metrics) error) (damaged int, err error) {
	f, _, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	step := 0
	for r := bufio.NewReaderSize(f, 1<<16); ; {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return damaged, nil
		}
		if err != nil {
			return damaged, errors.Wrap(err, path)
		}
		var m Metrics
		if json.Unmarshal(line, &m) != nil || m.Step <= step {
			damaged++
			continue
		}
		step = m.Step
		if err := each(line, m); err == errEnough {
			return damaged, nil
		} else if err != nil {
			return damaged, err
		}
	}
}

// readMetrics returns the lines of the steps up to and including step.
func readMetrics(path string, step int) (lines []Metrics, err error) {
	_, err = scanLines(path, func(_ []byte, m Metrics) error {
		if m.Step > step {
			return errEnough
		}
		lines = append(lines, m)
		return nil
	})
	return lines, err
}
