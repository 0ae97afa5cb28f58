package analysis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Sweep holds how a metric changes when the model is run with an intervention at one place
// after another: Effect = metric of that run - Baseline.
type Sweep struct {
	Title    string      `json:"title"`
	Metric   string      `json:"metric"`
	Quantity string      `json:"quantity"` // what Effect says of the metric: "change", "share that comes back"
	Baseline float64     `json:"baseline"` // the metric of the run that nothing intervenes in
	Rows     []string    `json:"rows"`
	Columns  []string    `json:"columns"`
	Effect   [][]float64 `json:"effect"` // [row][column]

	rowLabel, columnLabel string
	metric                Metric
	runner                *cache.Runner // set while the sweep measures
	atOnce                int           // number of runs that are the rows of a single run
}

// Effects returns s. A result that embeds a Sweep gets the method, too.
func (s *Sweep) Effects() *Sweep { return s }

// HeadName names the head of a place in a sweep over heads: "blocks.3.attention.1".
func (s *Sweep) HeadName(row, column int) string {
	return stream.PartName(s.Rows[row], stream.HeadPart, column)
}

// add appends the effects at an activation as one row; heads' outputs are named by their attention.
func (s *Sweep) add(activation string, effects []float64) {
	if s.columnLabel == stream.HeadPart {
		activation = strings.TrimSuffix(activation, headsSuffix)
	}
	s.Rows, s.Effect = append(s.Rows, activation), append(s.Effect, effects)
}

// newSweep begins a sweep over the given number of columns.
func newSweep(title, rowLabel, columnLabel string, columns int, m Metric) *Sweep {
	s := &Sweep{Title: title, Metric: m.Name, Quantity: "change", rowLabel: rowLabel, columnLabel: columnLabel, metric: m}
	for i := range columns {
		s.Columns = append(s.Columns, fmt.Sprint(i))
	}
	return s
}

// sweepTokens is about the number of tokens that a sweep runs at a time: enough that reading the
// weights takes less time than multiplying by them.
const sweepTokens = 256

// open compiles the model for the given number of runs on ids. If the named activations can
// differ between rows, several of these runs, about sweepTokens tokens, are the rows of a
// single run.
func (s *Sweep) open(store *graph.Store, spec models.Spec, ids []int32, names []string, runs int) (err error) {
	if len(ids) == 0 {
		return check.NoPrompt()
	}
	s.atOnce = min(runs, max(1, sweepTokens/len(ids)))
	s.runner, err = cache.New(store, spec, cache.Options{Names: names, Batch: s.atOnce, Seq: len(ids)})
	if err == nil && s.atOnce > 1 && slices.ContainsFunc(names, func(name string) bool { return !s.runner.PerRow(name) }) {
		s.close()
		return s.open(store, spec, ids, names, 1)
	}
	return err
}

func (s *Sweep) close() {
	s.runner.Close()
	s.runner = nil
}

// run intervenes in each named activation, for each column.
func (s *Sweep) run(ctx context.Context, ids []int32, names []string, at func(name string, column int) cache.Intervention) error {
	lists := [][]cache.Intervention{nil} // the baseline
	for _, name := range names {
		for column := range s.Columns {
			lists = append(lists, []cache.Intervention{at(name, column)})
		}
	}
	return s.measure(ctx, ids, names, lists)
}

// measure computes the effects at the named activations from lists of interventions: the
// baseline's, then one for each column of each activation.
func (s *Sweep) measure(ctx context.Context, ids []int32, names []string, lists [][]cache.Intervention) error {
	values, err := s.values(ctx, ids, lists)
	if err != nil {
		return err
	}
	s.Baseline = values[0]
	for i, name := range names {
		effects := slices.Clone(values[1+i*len(s.Columns):][:len(s.Columns)])
		floats.AddConst(-s.Baseline, effects)
		s.add(name, effects)
	}
	return nil
}

// runModel calls open, run and close.
func (s *Sweep) runModel(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, names []string,
	at func(name string, column int) cache.Intervention) error {
	if err := s.open(store, spec, ids, names, 1+len(names)*len(s.Columns)); err != nil {
		return err
	}
	defer s.close()
	return s.run(ctx, ids, names, at)
}

// values returns the metric of a run with each list of interventions.
func (s *Sweep) values(ctx context.Context, ids []int32, lists [][]cache.Intervention) ([]float64, error) {
	var values []float64
	for some := range slices.Chunk(lists, s.atOnce) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		runs, err := s.runner.RunEach(ids, some)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			value, err := s.metric.Of(run)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	return values, nil
}

// Table lists the effects, with a row for each activation.
func (s *Sweep) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("%s: %s of the %s (%.4g without)", s.Title, s.Quantity, s.Metric, s.Baseline),
		"l"+strings.Repeat("r", len(s.Columns)), append([]string{s.rowLabel}, s.Columns...)...)
	for i, row := range s.Rows {
		cells := []any{row}
		for _, v := range s.Effect[i] {
			cells = append(cells, v)
		}
		t.Row(cells...)
	}
	return t
}

// Figures returns the map of effects and, if there are both a column for all tokens and others,
// bars of that column, whose effects have another scale.
func (s *Sweep) Figures() []figure.Figure {
	each := figure.Heatmap{Title: s.Title + ": " + s.Quantity + " of the " + s.Metric, XLabel: s.columnLabel, YLabel: s.rowLabel,
		Columns: s.Columns, Rows: s.Rows, Values: s.Effect, Diverging: true}
	last := len(s.Columns) - 1
	if last < 1 || s.Columns[last] != allTokens {
		return []figure.Figure{each}
	}
	all := figure.Bars{Title: fmt.Sprintf("%s at all tokens: %s of the %s", s.Title, s.Quantity, s.Metric)}
	each.Columns, each.Values = s.Columns[:last], nil
	for i, row := range s.Effect {
		each.Values = append(each.Values, row[:last])
		all.Add(s.Rows[i], row[last])
	}
	return []figure.Figure{each, all}
}
