package analysis

import (
	"fmt"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Sweep is a metric's change by interventions at many places.
type Sweep struct {
	Title    string      `json:"title"`
	Metric   string      `json:"metric"`
	Quantity string      `json:"quantity"` // what Effect is of the metric: "change", "share that comes back"
	Baseline float64     `json:"baseline"` // the metric of the run that nothing intervenes in
	Rows     []string    `json:"rows"`
	Columns  []string    `json:"columns"`
	Effect   [][]float64 `json:"effect"` // [row][column]

	rowLabel, columnLabel string
	metric                Metric
}

func newSweep(title, rowLabel, columnLabel string, m Metric) *Sweep {
	return &Sweep{Title: title, Metric: m.Name, Quantity: "change", rowLabel: rowLabel, columnLabel: columnLabel, metric: m}
}

// runModel is run with a runner of its own.
func (s *Sweep) runModel(store *graph.Store, c models.Spec, ids []int32, names []string, at func(name string, column int) cache.Intervention) error {
	r, err := newRunner(store, c, ids, names)
	if err != nil {
		return err
	}
	defer r.Close()
	return s.run(r, ids, names, at)
}

// run intervenes in each named activation, for each column.
func (s *Sweep) run(r *cache.Runner, ids []int32, names []string, at func(name string, column int) cache.Intervention) (err error) {
	if s.Baseline, err = s.measure(r, ids); err != nil {
		return err
	}
	for _, name := range names {
		effects := make([]float64, len(s.Columns))
		for column := range effects {
			value, err := s.measure(r, ids, at(name, column))
			if err != nil {
				return err
			}
			effects[column] = value - s.Baseline
		}
		s.Rows, s.Effect = append(s.Rows, name), append(s.Effect, effects)
	}
	return nil
}

// measure is the metric of one run.
func (s *Sweep) measure(r *cache.Runner, ids []int32, replace ...cache.Intervention) (float64, error) {
	run, err := r.Run(ids, replace...)
	if err != nil {
		return 0, err
	}
	return s.metric.Of(run)
}

// Table lists the effects, a row an activation.
func (s *Sweep) Table() figure.Table {
	t := figure.Table{Title: fmt.Sprintf("%s: %s of the %s (%s without)", s.Title, s.Quantity, s.Metric, number(s.Baseline)),
		Header: append([]string{s.rowLabel}, s.Columns...), Align: "l"}
	for range s.Columns {
		t.Align += "r"
	}
	for i, row := range s.Rows {
		cells := []string{row}
		for _, v := range s.Effect[i] {
			cells = append(cells, number(v))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// Figures is the map of effects.
func (s *Sweep) Figures() []figure.Figure {
	return []figure.Figure{figure.Heatmap{Title: s.Title + ": " + s.Quantity + " of the " + s.Metric, XLabel: s.columnLabel, YLabel: s.rowLabel,
		Columns: s.Columns, Rows: s.Rows, Values: s.Effect, Diverging: true}}
}
