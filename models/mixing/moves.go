package mixing

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// Moves says how far coefficients have moved from their start, place by place in the order of the
// run.
type Moves struct {
	Tokens int     `json:"tokens"`
	Places []Place `json:"places"`
}

// Place is one matrix of coefficients, C of a token and C0 at its start.
type Place struct {
	Name    string            `json:"name"` // of the site or block
	Kind    stream.MixingKind `json:"kind"`
	Rows    int               `json:"rows"`
	Columns int               `json:"columns"`
	// Moved is how far an entry is from its start: the root of the mean of (C - C0)^2 over entries
	// and tokens.
	Moved float64 `json:"moved"`
	// Spread is how far a token's entry is from the mean over tokens: the root of the mean square;
	// 0 where all tokens have the same.
	Spread float64 `json:"spread"`
	// Mean is C averaged over tokens, row by row.
	Mean [][]float64 `json:"mean"`
	// Carry is set for an A_res only.
	Carry *Carry `json:"carry,omitempty"`
	// Entropy is set for depth weights only: the entropy of the shares |C_j| / sum |C|, averaged
	// over rows and tokens, divided by the logarithm of the number of sources. It is 1 if all
	// sources are read alike, 0 if only one is read.
	Entropy *float64 `json:"entropy,omitempty"`
}

// Carry says what an A_res does to a signal, by itself and multiplied with the A_res of all sites
// before it. A gain is the largest sum of |entries| over a row (how much a state can grow on its
// way forward) or over a column (how much a gradient can grow on its way back). It is 1 for a
// doubly stochastic matrix. DeepSeek 2025 (arXiv 2512.24880) calls the product's gain the composite
// gain. Gains are averaged over tokens.
type Carry struct {
	OffDiagonal       float64 `json:"off_diagonal"` // sum of |entries| off the diagonal, averaged over rows
	RowGain           float64 `json:"row_gain"`
	ColumnGain        float64 `json:"column_gain"`
	CompositeRows     float64 `json:"composite_row_gain"`
	CompositeColumns  float64 `json:"composite_column_gain"`
	CompositeDiagonal float64 `json:"composite_diagonal"` // mean of the product's diagonal
}

// Since compares coefficients with those at their start, of the same model and tokens.
func (c *Coefficients) Since(start *Coefficients) *Moves {
	m := &Moves{Tokens: c.Tokens}
	products := newProducts(c.Tokens)
	for i, p := range c.places {
		at := Place{Name: p.Name, Kind: p.Kind, Rows: p.Rows, Columns: p.Columns, Moved: rootMeanSquare(p.values, start.places[i].values)}
		mean, all := p.mean(), []float64(nil)
		for range c.Tokens {
			all = append(all, mean...)
		}
		at.Spread = rootMeanSquare(p.values, all)
		for row := range p.Rows {
			at.Mean = append(at.Mean, mean[row*p.Columns:][:p.Columns])
		}
		switch p.Kind {
		case stream.MixingCarry:
			at.Carry = products.carry(p)
		case stream.MixingDepth:
			at.Entropy = p.entropy(c.Tokens)
		}
		m.Places = append(m.Places, at)
	}
	return m
}

func rootMeanSquare(x, y []float64) float64 {
	return floats.Distance(x, y, 2) / math.Sqrt(float64(len(x)))
}

// mean returns the matrix averaged over tokens.
func (p place) mean() []float64 {
	mean := make([]float64, p.Rows*p.Columns)
	tokens := len(p.values) / len(mean)
	for i, v := range p.values {
		mean[i%len(mean)] += v
	}
	for i := range mean {
		mean[i] /= float64(tokens)
	}
	return mean
}

// entropy returns the mean entropy of a place's depth weights, as a share of the largest possible;
// nil if there is a single source.
func (p place) entropy(tokens int) *float64 {
	if p.Columns < 2 {
		return nil
	}
	sum := 0.0
	for row := range tokens * p.Rows {
		weights, total := p.values[row*p.Columns:][:p.Columns], 0.0
		for _, w := range weights {
			total += math.Abs(w)
		}
		for _, w := range weights {
			if share := math.Abs(w) / total; share > 0 {
				sum -= share * math.Log(share)
			}
		}
	}
	sum /= float64(tokens*p.Rows) * math.Log(float64(p.Columns))
	return &sum
}

// Table has a row for each place.
func (m *Moves) Table() figure.Table {
	t := figure.NewTable("Mixing coefficients and their start", "llrrrrrrrr",
		"where", "what", "shape", "moved", "spread", "off-diagonal", "gain", "composite gain", "entropy")
	t.Note = "moved: root mean square distance of an entry from its start; spread: of a token's entry from the mean over\n" +
		"tokens. off-diagonal: the sum of |entries| off the diagonal, a row. gain: the largest sum of |entries| of a\n" +
		"row, and of a column: 1 amplifies nothing; composite gain: that of the product of all A_res so far. entropy:\n" +
		"1 reads all sources alike, 0 one of them."
	for _, p := range m.Places {
		cells := []string{p.Name, string(p.Kind), fmt.Sprintf("%d x %d", p.Rows, p.Columns), small(p.Moved), small(p.Spread), "", "", "", ""}
		if c := p.Carry; c != nil {
			cells[5], cells[6] = small(c.OffDiagonal), fmt.Sprintf("%.3f, %.3f", c.RowGain, c.ColumnGain)
			cells[7] = fmt.Sprintf("%.3f, %.3f", c.CompositeRows, c.CompositeColumns)
		}
		if p.Entropy != nil {
			cells[8] = fmt.Sprintf("%.3f", *p.Entropy)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// small writes a number that may be tiny.
func small(v float64) string {
	if v != 0 && math.Abs(v) < 1e-3 {
		return fmt.Sprintf("%.1e", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// Figures plots how far each kind has moved, in the order of the run, and the composite gain.
func (m *Moves) Figures() []figure.Figure {
	moved := figure.Bars{Title: "How far coefficients moved from their start", YLabel: "root mean square"}
	gain := figure.Lines{Title: "Composite gain of A_res through depth", XLabel: "site", YLabel: "gain",
		Series: []figure.Series{{Name: "rows (forward)"}, {Name: "columns (backward)"}}}
	for _, p := range m.Places {
		moved.Add(p.Name+" "+string(p.Kind), p.Moved)
		if p.Carry != nil {
			gain.AddNamed(p.Name, p.Carry.CompositeRows, p.Carry.CompositeColumns)
		}
	}
	if len(gain.XNames) > 1 {
		return []figure.Figure{moved, gain}
	}
	return []figure.Figure{moved}
}

// products holds the product of the A_res so far, a matrix for each token.
type products struct{ of []*mat.Dense }

// newProducts returns empty products: nil stands for the identity.
func newProducts(tokens int) *products { return &products{make([]*mat.Dense, tokens)} }

// carry multiplies the products by an A_res and measures it and them.
func (p *products) carry(at place) *Carry {
	var c Carry
	n := at.Rows
	for t, before := range p.of {
		a := mat.NewDense(n, n, at.matrix(t))
		product := a
		if before != nil {
			product = &mat.Dense{}
			product.Mul(a, before)
		}
		p.of[t] = product
		c.OffDiagonal += offDiagonal(a)
		c.RowGain += mat.Norm(a, math.Inf(1))
		c.ColumnGain += mat.Norm(a, 1)
		c.CompositeRows += mat.Norm(product, math.Inf(1))
		c.CompositeColumns += mat.Norm(product, 1)
		c.CompositeDiagonal += mat.Trace(product) / float64(n)
	}
	for _, sum := range []*float64{&c.OffDiagonal, &c.RowGain, &c.ColumnGain, &c.CompositeRows, &c.CompositeColumns, &c.CompositeDiagonal} {
		*sum /= float64(len(p.of))
	}
	return &c
}

// offDiagonal returns the sum of |entries| off the diagonal, averaged over rows.
func offDiagonal(a *mat.Dense) float64 {
	n, sum := a.RawMatrix().Rows, 0.0
	for i := range n {
		for j, v := range a.RawRowView(i) {
			if i != j {
				sum += math.Abs(v) / float64(n)
			}
		}
	}
	return sum
}
