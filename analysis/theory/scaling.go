package theory

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// ScalePoint is a model with a residual stream of a given size, as models.Spec.Cost counts it.
type ScalePoint struct {
	Model        string `json:"model"`
	StreamSize   int    `json:"stream_size"` // entries a token
	Parameters   int    `json:"parameters"`
	ForwardFLOPs int    `json:"forward_flops"` // a token
}

// Scaling is the paper's figure 1 (section 3.1), which is at GPT-2 medium's sizes: parameters and
// FLOPs against the size of the residual stream, of the models as they are built here. The RMT's
// stream grows by Dk, all else held; the transformer's by d_model, either all else held (heads,
// their size and the feed-forward's hidden width) or heads and hidden width grown in proportion, as
// is usual.
type Scaling struct {
	Matrix       []ScalePoint `json:"matrix"`
	Transformer  []ScalePoint `json:"transformer"`  // all else held
	Proportional []ScalePoint `json:"proportional"` // heads and hidden width in proportion
}

// FigureSizes returns the stream sizes of figure 1, in entries. Both rmt-305m and transformer-405m
// can have each of them.
func FigureSizes() []int { return []int{1024, 2048, 3072, 4096, 6144, 8192} }

// NewScaling varies the stream of an RMT and of a transformer (paper figure 1). sizes in entries:
// multiples of the RMT's Dv and of the transformer's head dimension for which FF d/d_model is
// whole.
func NewScaling(matrix, vector models.Spec, sizes []int) (Scaling, error) {
	first, second := paperKinds()
	if matrix.Stream.Name() != first || vector.Stream.Name() != second {
		return Scaling{}, check.Valuef("streams", fmt.Sprintf("%s and %s", matrix.Stream.Name(), vector.Stream.Name()), "%s and %s", first, second)
	}
	var s Scaling
	for _, size := range sizes {
		if err := s.add(matrix, vector, size); err != nil {
			return Scaling{}, err
		}
	}
	return s, nil
}

// add appends a point to each line.
func (s *Scaling) add(matrix, vector models.Spec, size int) error {
	head, dv, ff, d := vector.HeadDim(), matrix.HeadDim(), hidden(vector), vector.Width()
	if size < 1 || size%dv != 0 || size%head != 0 || ff*size%d != 0 {
		return check.Valuef("stream size", size, "a multiple of Dv %d and of the head dimension %d for which FF %d x size / d_model %d is whole", dv, head, ff, d)
	}
	for _, line := range []struct {
		points *[]ScalePoint
		name   string
		of     models.Spec
		sizes  map[string]int
	}{
		{&s.Matrix, "RMT", matrix, map[string]int{"stream.dk": size / dv}},
		{&s.Transformer, "transformer, all else held", vector, map[string]int{"stream.d_model": size, "attention.head_dim": head}},
		{&s.Proportional, "transformer, in proportion", vector,
			map[string]int{"stream.d_model": size, "attention.heads": size / head, "attention.head_dim": 0, "feedforward.hidden": ff * size / d}},
	} {
		model, err := resized(line.of.Config, line.sizes)
		if err != nil {
			return errors.Wrapf(err, "%s with a stream of %d", line.name, size)
		}
		cost := model.Cost()
		*line.points = append(*line.points, ScalePoint{line.name, cost.StreamSize, cost.Parameters, cost.ForwardFLOPs})
	}
	return nil
}

// Growth returns the last value of a line divided by the first, for parameters and FLOPs.
func Growth(points []ScalePoint) (parameters, flops float64) {
	if len(points) == 0 {
		return 1, 1
	}
	first, last := points[0], points[len(points)-1]
	return float64(last.Parameters) / float64(first.Parameters), float64(last.ForwardFLOPs) / float64(first.ForwardFLOPs)
}

// lines returns the three lines in the order of the tables.
func (s Scaling) lines() [][]ScalePoint {
	return [][]ScalePoint{s.Matrix, s.Transformer, s.Proportional}
}

// Table has a row for each point, with its ratio to the line's first.
func (s Scaling) Table() figure.Table {
	t := figure.NewTable("Figure 1: model size and forward FLOPs a token against the size of the residual stream", "lrrrrr",
		"model", "stream", "parameters, M", "of the first", "FLOPs, M", "of the first")
	for _, line := range s.lines() {
		for i, p := range line {
			parameters, flops := Growth(line[:i+1])
			t.Row(
				p.Model, p.StreamSize, millions(p.Parameters), parameters, millions(p.ForwardFLOPs), flops,
			)
		}
	}
	return t
}

// scalingNotes says what is held.
const scalingNotes = "The RMT grows by Dk. It is not quite flat: a step of Dk adds 3 R (2L+1) entries of keys and (2L+1) Dv of norm gains, and 6 R Dv " +
	"(2L+1) FLOPs a token."

// Figures returns the two panels: parameters and FLOPs.
func (s Scaling) Figures() []figure.Figure {
	size := figure.Lines{Title: "Model size against residual stream", XLabel: "stream, entries a token", YLabel: "parameters, millions", LogX: true, LogY: true}
	flops := figure.Lines{Title: "Forward FLOPs against residual stream", XLabel: size.XLabel, YLabel: "FLOPs a token, millions", LogX: true, LogY: true}
	for _, line := range s.lines() {
		if len(line) == 0 {
			continue
		}
		a, b := figure.Series{Name: line[0].Model}, figure.Series{Name: line[0].Model}
		for _, p := range line {
			x := float64(p.StreamSize)
			a.Add(x, float64(p.Parameters)/1e6)
			b.Add(x, float64(p.ForwardFLOPs)/1e6)
		}
		size.Series, flops.Series = append(size.Series, a), append(flops.Series, b)
	}
	return []figure.Figure{size, flops}
}
