package theory

import (
	"fmt"
	"strconv"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Shape is an RMT's row of the paper's Table 9: the stream's shape [Dk, Dv] that its size allows.
type Shape struct {
	Model  string  `json:"model"`
	Paper  float64 `json:"paper"` // millions of parameters, as printed
	Layers int     `json:"layers"`
	Rank   int     `json:"rank"`
	FF     int     `json:"ff"`
	// SizedDv is the Dv that the printed number of parameters asks for, if Dk is Config's.
	SizedDv float64 `json:"sized_dv"`
	Dk      int     `json:"dk"`
	Dv      int     `json:"dv"`
	Stream  int     `json:"stream"` // Dk Dv entries
	Width   int     `json:"width"`  // R Dv
	// Parameters are the paper's count with Dv, WidthParameters with R Dv in Dv's place.
	Parameters      int `json:"parameters"`
	WidthParameters int `json:"width_parameters"`
}

// Shapes corrects the paper's Table 9: the columns Dk and Dv of its 206M and 305M rows hold R Dv,
// the width of what blocks work on. With R Dv for Dv these models would have some ten times the
// parameters that the same table prints; the printed sizes ask for Dv = 64, and the streams of
// 3072 and 4096 entries then for Dk = 48 and 64.
type Shapes struct {
	Shapes []Shape `json:"shapes"`
}

// NewShapes derives Dv of each RMT of Table 9 from the printed number of parameters.
func NewShapes() (Shapes, error) {
	var shapes Shapes
	for _, name := range table9Presets() {
		preset, _, _ := models.FindPreset(name)
		c, err := presetConfig(name)
		if err != nil {
			return Shapes{}, err
		}
		if !isRMT(c) {
			continue
		}
		shape, err := newShape(preset, c)
		if err != nil {
			return Shapes{}, err
		}
		shapes.Shapes = append(shapes.Shapes, shape)
	}
	return shapes, nil
}

func newShape(p models.Preset, c models.Config) (Shape, error) {
	own, err := CountResources(p.Name, c)
	if err != nil {
		return Shape{}, err
	}
	wide := c
	wide.Dv = c.Width()
	misread, err := CountResources(p.Name, wide)
	if err != nil {
		return Shape{}, err
	}
	return Shape{
		Model: p.Name, Paper: p.Paper, Layers: c.Layers, Rank: c.HeadCount(), FF: c.FF, SizedDv: sizedDv(p.Paper, c),
		Dk: keySize(c), Dv: c.HeadDim(), Stream: c.StreamSize(), Width: c.Width(),
		Parameters: own.Parameters.Corrected, WidthParameters: misread.Parameters.Corrected,
	}, nil
}

// sizedDv solves parameters = R Dv (2V + N + 2 L FF) + 3 R Dk (2L+1) for Dv.
func sizedDv(paper float64, c models.Config) float64 {
	keys := 3 * c.HeadCount() * keySize(c) * (2*c.Layers + 1)
	return (1e6*paper - float64(keys)) / float64(c.HeadCount()*(2*c.Vocab+c.Seq+2*c.Layers*c.FF))
}

// Name is the stem of the result's files.
func (s Shapes) Name() string { return "table-9" }

// Table has a row for each RMT.
func (s Shapes) Table() figure.Table {
	t := figure.Table{
		Title:  "Table 9: shapes of the RMT's streams",
		Header: []string{"model", "paper, M", "L", "R", "FF", "Dv by that size", "Dk", "Dv", "Dk Dv", "parameters, M", "R Dv", "parameters with Dv = R Dv, M"},
		Align:  "lrrrrrrrrrrr",
	}
	for _, m := range s.Shapes {
		t.Rows = append(t.Rows, []string{
			m.Model, fmt.Sprintf("%.1f", m.Paper), strconv.Itoa(m.Layers), strconv.Itoa(m.Rank), strconv.Itoa(m.FF), fmt.Sprintf("%.2f", m.SizedDv),
			strconv.Itoa(m.Dk), strconv.Itoa(m.Dv), strconv.Itoa(m.Stream), millions(m.Parameters), strconv.Itoa(m.Width), millions(m.WidthParameters),
		})
	}
	return t
}

// Notes says what is printed.
func (s Shapes) Notes() []string {
	return []string{"In the rows of 206M and 305M the paper prints R Dv in the place of Dk and Dv. Dv by that size: the value size at which the printed number of parameters comes out."}
}

// Figures has none.
func (s Shapes) Figures() []figure.Figure { return nil }
