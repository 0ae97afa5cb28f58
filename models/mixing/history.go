package mixing

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// Logged holds what a run logged about its coefficients at one step.
type Logged struct {
	Step   int     `json:"step"`
	Mixing []Brief `json:"mixing"`
}

// Brief is a Place without its matrix.
type Brief struct {
	Name          string            `json:"name"`
	Kind          stream.MixingKind `json:"kind"`
	Moved         float64           `json:"moved"`
	Spread        float64           `json:"spread"`
	CompositeRows float64           `json:"composite_row_gain,omitempty"`
	Entropy       *float64          `json:"entropy,omitempty"`
}

// Brief lists the places without their matrices. Places whose numbers are not finite are left out,
// as those of a run that has diverged may be.
func (m *Moves) Brief() []Brief {
	var all []Brief
	for _, p := range m.Places {
		b := Brief{Name: p.Name, Kind: p.Kind, Moved: p.Moved, Spread: p.Spread, Entropy: p.Entropy}
		if p.Carry != nil {
			b.CompositeRows = p.Carry.CompositeRows
		}
		if sum := b.Moved + b.Spread + b.CompositeRows; !math.IsNaN(sum) && !math.IsInf(sum, 0) {
			all = append(all, b)
		}
	}
	return all
}

// ReadHistory reads what train.log_mixing wrote to the metrics in a run's folder; the path may also
// be a checkpoint in it. The result is empty if nothing was logged.
func ReadHistory(checkpoint string) ([]Logged, error) {
	for folder, up := filepath.Clean(checkpoint), 0; up < 4; folder, up = filepath.Dir(folder), up+1 {
		file, err := os.Open(filepath.Join(folder, "metrics.jsonl"))
		if err != nil {
			continue
		}
		defer file.Close()
		return readHistory(file)
	}
	return nil, nil
}

// readHistory ignores a last line without a line break, which a run that was killed, or that still
// writes, leaves.
func readHistory(file *os.File) ([]Logged, error) {
	var all []Logged
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		var l Logged
		if err == nil {
			err = json.Unmarshal(line, &l)
		}
		if err != nil {
			return nil, errors.Wrap(err, file.Name())
		}
		if len(l.Mixing) > 0 {
			all = append(all, l)
		}
	}
}

// History holds what was logged, step by step.
type History []Logged

// Table has a row for each step: how far each kind has moved, averaged over its places.
func (h History) Table() figure.Table {
	kinds := h.kinds()
	t := figure.NewTable("Root mean square distance from the start", "rrrrrr", "step")
	for _, kind := range kinds {
		t.Header = append(t.Header, string(kind))
	}
	for _, l := range h {
		cells := []string{fmt.Sprint(l.Step)}
		for _, kind := range kinds {
			cells = append(cells, small(l.moved(kind)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// kinds returns the kinds of coefficients that were logged.
func (h History) kinds() []stream.MixingKind {
	var all []stream.MixingKind
	for _, b := range h[0].Mixing {
		if !slices.Contains(all, b.Kind) {
			all = append(all, b.Kind)
		}
	}
	return all
}

// moved returns the mean over a kind's places.
func (l Logged) moved(kind stream.MixingKind) float64 {
	sum, n := 0.0, 0.0
	for _, b := range l.Mixing {
		if b.Kind == kind {
			sum, n = sum+b.Moved, n+1
		}
	}
	return sum / n
}

// Figures returns the distances by kind, and for each place the distance of the coefficients that
// carry the rows.
func (h History) Figures() []figure.Figure {
	all := figure.Lines{Title: "Distance from the start in training", XLabel: "step", YLabel: "root mean square"}
	for _, kind := range h.kinds() {
		s := figure.Series{Name: string(kind)}
		for _, l := range h {
			s.Add(float64(l.Step), l.moved(kind))
		}
		all.Series = append(all.Series, s)
	}
	return []figure.Figure{all}
}
