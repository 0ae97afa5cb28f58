package theory

import (
	"fmt"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Shape is an RMT's row of the paper's Table 9.
type Shape struct {
	Model  string  `json:"model"`
	Paper  float64 `json:"paper"` // millions of parameters, as printed
	Layers int     `json:"layers"`
	Rank   int     `json:"rank"`
	FF     int     `json:"ff"`
	// PrintedDk and PrintedDv are the entries of the table's columns Dk and Dv.
	PrintedDk int `json:"printed_dk"`
	PrintedDv int `json:"printed_dv"`
	Dk        int `json:"dk"`
	Dv        int `json:"dv"`
	Stream    int `json:"stream"` // Dk Dv entries
	Width     int `json:"width"`  // R Dv
	// Parameters are the paper's count with Dk and Dv, PrintedParameters with what is printed for
	// them.
	Parameters        int `json:"parameters"`
	PrintedParameters int `json:"printed_parameters"`
	// LeastDv and MostDv are the values of Dv at which the count rounds to the printed size.
	LeastDv float64 `json:"least_dv"`
	MostDv  float64 `json:"most_dv"`
}

// Shapes corrects the paper's Table 9: in its 206M and 305M rows the column Dk holds R Dv, the
// width of what blocks work on, and the column Dv holds Dk. With Dk and Dv as printed these models
// would have other sizes than the same table prints; the printed sizes ask for Dv = 64, which is
// the column Dk over R.
type Shapes struct {
	Shapes []Shape `json:"shapes"`
}

// printedShapes holds the columns Dk and Dv of Table 9.
func printedShapes() map[string][2]int {
	return map[string][2]int{"rmt-46m": {32, 32}, "rmt-134m": {32, 64}, "rmt-206m": {896, 48}, mediumRMT: {1024, 64}}
}

// NewShapes compares each RMT of Table 9 with what its row prints.
func NewShapes() (Shapes, error) {
	var shapes Shapes
	for _, name := range table9Presets() {
		printed, isRMT := printedShapes()[name]
		if !isRMT {
			continue
		}
		shape, err := newShape(name, printed)
		if err != nil {
			return Shapes{}, err
		}
		shapes.Shapes = append(shapes.Shapes, shape)
	}
	return shapes, nil
}

func newShape(name string, printed [2]int) (Shape, error) {
	own, err := count(name, nil)
	if err != nil {
		return Shape{}, err
	}
	c := own.spec
	misread, err := count(name, map[string]int{"stream.dk": printed[0], "stream.dv": printed[1]})
	return Shape{
		Model: name, Paper: own.Paper, Layers: c.Layers, Rank: c.HeadCount(), FF: hidden(c), PrintedDk: printed[0], PrintedDv: printed[1],
		Dk: keySize(c), Dv: c.HeadDim(), Stream: c.StreamSize(), Width: c.Width(),
		Parameters: own.Parameters.Corrected, PrintedParameters: misread.Parameters.Corrected,
		LeastDv: sizedDv(own.Paper-0.5, c), MostDv: sizedDv(own.Paper+0.5, c),
	}, err
}

// sizedDv solves parameters = R Dv (2V + N + 2 L FF) + 3 R Dk (2L+1) for Dv.
func sizedDv(millions float64, spec models.Spec) float64 {
	keys := 3 * spec.HeadCount() * keySize(spec) * (2*spec.Layers + 1)
	return (1e6*millions - float64(keys)) / float64(spec.HeadCount()*(2*spec.Vocab+spec.Seq+2*spec.Layers*hidden(spec)))
}

// Table has a row for each RMT.
func (s Shapes) Table() figure.Table {
	t := figure.NewTable("Table 9: shapes of the RMT's streams", "lrrrrrrrrrrrrr",
		"model", "printed, M", "L", "R", "FF", "printed Dk", "printed Dv", "parameters as printed, M", "Dv by the printed size", "Dk", "Dv", "Dk Dv", "R Dv",
		"parameters, M")
	for _, m := range s.Shapes {
		t.Row(
			m.Model, fmt.Sprintf("%.0f", m.Paper), m.Layers, m.Rank, m.FF,
			m.PrintedDk, m.PrintedDv, millions(m.PrintedParameters), fmt.Sprintf("%.1f to %.1f", m.LeastDv, m.MostDv),
			m.Dk, m.Dv, m.Stream, m.Width, millions(m.Parameters),
		)
	}
	return t
}

// shapesNotes says what is printed.
const shapesNotes = "In the rows of 206M and 305M the column Dk holds R Dv, and the column Dv holds Dk. Dv by the printed size: at which the paper's " +
	"count, with the right Dk, rounds to the printed number of parameters."
