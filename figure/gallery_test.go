package figure

import (
	"bytes"
	"fmt"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// words returns tokens as a tokenizer makes them.
var words = []string{"Once", " upon", " a", " time", ",", " there", " was", " a", " little", " girl", " named", " Lily", ".", "\n", "\t", "She", " said", ":", " \"", "Grüße", "中文", "\x00", "\xff", ""}

func tokens(n int) []string {
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = words[i%len(words)]
	}
	return tokens
}

func names(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prefix, i)
	}
	return names
}

func normal(r *rand.Rand, rows, columns int) [][]float64 {
	values := make([][]float64, rows)
	for i := range values {
		values[i] = make([]float64, columns)
		for j := range values[i] {
			values[i][j] = r.NormFloat64()
		}
	}
	return values
}

// pattern returns a causal attention pattern, whose rows sum to 1.
func pattern(r *rand.Rand, n int) [][]float64 {
	p := make([][]float64, n)
	sharp := 3 * r.Float64()
	for q := range p {
		p[q] = make([]float64, n)
		sum := 0.0
		for k := range q + 1 {
			p[q][k] = math.Exp(sharp*r.NormFloat64() + 3*float64(k-q)/float64(n))
			sum += p[q][k]
		}
		for k := range q + 1 {
			p[q][k] /= sum
		}
	}
	return p
}

func patterns(r *rand.Rand, heads, n int) []Matrix {
	var all []Matrix
	for range heads {
		all = append(all, pattern(r, n))
	}
	return all
}

// wiring returns a diagram with an embedding, layers of heads and a feed-forward, and the
// unembedding.
func wiring(r *rand.Rand, layers, heads int) Wiring {
	w := Wiring{Title: "Virtual weights between layers", Nodes: []WiringNode{{"embedding", 0}}}
	for l := range layers {
		for h := range heads {
			w.Nodes = append(w.Nodes, WiringNode{fmt.Sprintf("L%d head %d", l, h), 2*l + 1})
		}
		w.Nodes = append(w.Nodes, WiringNode{fmt.Sprintf("L%d feed-forward", l), 2*l + 2})
	}
	w.Nodes = append(w.Nodes, WiringNode{"unembedding", 2*layers + 1})
	for i, from := range w.Nodes {
		for j, to := range w.Nodes {
			if from.Layer < to.Layer {
				w.Edges = append(w.Edges, WiringEdge{From: i, To: j, Weight: math.Pow(r.NormFloat64(), 3)})
			}
		}
	}
	return w
}

func wave(name string, n int, phase float64) Series {
	s := Series{Name: name}
	for i := range n {
		s.X = append(s.X, float64(i))
		s.Y = append(s.Y, math.Exp(-3*float64(i)/float64(n))*(1.2+math.Sin(phase+20*float64(i)/float64(n))))
	}
	return s
}

// giants returns figures that are larger than anybody looks at.
func giants() map[string]Figure {
	r := rand.New(rand.NewPCG(3, 4))
	return map[string]Figure{
		"heatmap_huge": Heatmap{Title: "2000 by 2000", Values: normal(r, 2000, 2000), Diverging: true},
		"wiring_large": wiring(r, 24, 16),
	}
}

// gallery returns figures of all kinds, small and large, plain and odd.
func gallery() map[string]Figure {
	r := rand.New(rand.NewPCG(1, 2))
	holed := normal(r, 12, 16)
	holed[3][4], holed[5] = math.NaN(), make([]float64, 16)
	for j := range holed[5] {
		holed[5][j] = math.NaN()
	}
	broken := wave("with a hole and \n a line feed", 60, 2)
	broken.Y[20] = math.NaN()
	errorsBars := wave("with errors", 12, 1)
	for i := range errorsBars.X {
		errorsBars.X[i] *= 5
		errorsBars.Error = append(errorsBars.Error, 0.1+0.2*r.Float64())
	}
	marks := Series{Name: "marks", Points: true}
	for range 80 {
		marks.X, marks.Y = append(marks.X, 60*r.Float64()), append(marks.Y, r.Float64())
	}
	power := Series{Name: "L(N) = (N₀/N)^α"}
	measured := Series{Name: "measured", Points: true}
	for i := range 30 {
		n := 1e3 * math.Pow(10, float64(i)/6)
		power.X, power.Y = append(power.X, n), append(power.Y, math.Pow(1e9/n, 0.2))
		measured.X, measured.Y = append(measured.X, n), append(measured.Y, math.Pow(1e9/n, 0.2)*(1+0.1*r.NormFloat64()))
		measured.Error = append(measured.Error, 0.3*measured.Y[i])
	}
	loss, clean := noisy(2000)
	validation := Series{Name: "validation", X: []float64{500, 1000, 1500, 2000}, Y: clean[:4], Marks: true}
	var crowd []Series
	for i := range 40 {
		crowd = append(crowd, wave(fmt.Sprintf("block %d", i), 5000, float64(i)/5))
	}
	return map[string]Figure{
		"heatmap_tokens": Heatmap{Title: "Logit lens: the probability of the right token, by layer", XLabel: "token", YLabel: "layer", Columns: tokens(24), Rows: names("L", 6), Values: normal(r, 6, 24)},
		"heatmap_holes":  Heatmap{Title: "OV circuit", XLabel: "to", YLabel: "from", Values: holed, Diverging: true},
		"heatmap_one":    Heatmap{Title: "One value", Values: [][]float64{{0.7}}},
		"heatmap_row":    Heatmap{Title: "A single row of an analysis", YLabel: "norm of the term", Rows: []string{"all"}, Columns: names("block ", 12), Values: normal(r, 1, 12), Diverging: true},
		"heatmap_wide":   Heatmap{Title: "Composition scores between heads of all layers, a long title that needs to be wrapped as it is wider than the picture", XLabel: "head that reads", YLabel: "head that writes", Columns: names("head ", 48), Rows: names("head ", 48), Values: normal(r, 48, 48)},
		"heatmap_large":  Heatmap{Title: "200 by 300", XLabel: "feature", YLabel: "feature", Columns: names("column ", 300), Rows: names("row ", 200), Values: normal(r, 200, 300), Diverging: true},
		"heatmap_tall":   Heatmap{Title: "Tall", Columns: []string{"attention", "feed-forward", "embedding"}, Rows: names("token ", 60), Values: normal(r, 60, 3)},
		"heatmap_limits": Heatmap{Title: "Weights from 0 to 1", Values: [][]float64{{0.25, 0.5}, {0, 0.3}}, Limits: []float64{0, 1}},
		"heatmap_cells":  worded(12, 24),
		"heatmap_crowd":  worded(60, 150),
		"heatmap_nan":    Heatmap{Title: "Nothing", Values: [][]float64{{math.NaN(), math.NaN()}}},
		"lines_linear":   Lines{Title: "Lines, marks, error bars", XLabel: "step", YLabel: "loss", Series: []Series{wave("plain", 60, 0), broken, errorsBars, marks}},
		"lines_log":      Lines{Title: "A power law", XLabel: "parameters N", YLabel: "loss", LogX: true, LogY: true, Series: []Series{power, measured}},
		"lines_crowd":    Lines{Title: "Crowd", XLabel: "position", YLabel: "norm", Series: crowd},
		"lines_flat":     Lines{Title: "Flat", Series: []Series{{X: []float64{1, 2, 3}, Y: []float64{5, 5, 5}}}},
		"lines_raw":      Lines{Title: "Smoothed", XLabel: "step", YLabel: "loss", Series: []Series{loss.Smoothed(), validation, {Name: "one", X: []float64{200}, Y: []float64{3}}}},
		"panels": Panels{Title: "Panels", Across: 2, Charts: []Lines{
			{Title: "left", XLabel: "width", YLabel: "size", LogX: true, LogY: true, XTicks: []float64{1, 2, 4}, Series: []Series{{Name: "one", Marks: true, X: []float64{1, 2, 4}, Y: []float64{0.5, 7, 70}}, {Name: "none", X: []float64{1, 2}, Y: []float64{math.NaN(), 0}}}},
			{Title: "right", Series: []Series{{Name: "one", Marks: true, X: []float64{1, 4}, Y: []float64{3, 2}}}},
			{Title: "below", Series: []Series{{Name: "one", Marks: true, X: []float64{2}, Y: []float64{3}}}},
		}},
		"lines_empty":    Lines{Title: "No point can be drawn", LogY: true, Series: []Series{{Name: "zero", X: []float64{1}, Y: []float64{0}}}},
		"bars_signed":    Bars{Title: "Direct logit attribution", YLabel: "logit", Labels: append(names("L0 head ", 8), "feed-forward 0", "a very long label that has to be cut because it is so long", " the", "\n"), Values: []float64{0.1, -0.4, 1.25, 3, -2, 0.003, 0, math.NaN(), 1, -0.25, 2, 1e-5}},
		"bars_errors":    Bars{Title: "Means with standard errors", Labels: names("head ", 4), Values: []float64{1, -0.5, 0.25, 2}, Errors: []float64{0.5, 0.75, math.NaN(), 0}},
		"bars_one":       Bars{Title: "One", YLabel: "loss minus another's", Labels: []string{"model"}, Values: []float64{-0.35}, Errors: []float64{0.06}},
		"bars_positive":  Bars{Title: "Norms", YLabel: "‖term‖", Labels: names("term ", 5), Values: []float64{123456, 2e5, 1000, 5e4, 7}},
		"bars_series":    Bars{Title: "Training speed", YLabel: "GFLOPS", Format: "%.0f", Labels: []string{"rmt-46m", "transformer-49m", " the"}, Series: []BarSeries{{Name: "Residua", Values: []float64{146.7, 149.5, 3}}, {Name: "torch.compile", Values: []float64{97.2, 120.6, -1}}, {Name: "PyTorch eager", Values: []float64{41.3, math.NaN(), 2}}}},
		"bars_crowd":     Bars{Title: "Crowd of series", Labels: names("feature ", 700), Series: []BarSeries{{Name: "one", Values: normal(r, 1, 700)[0]}, {Name: "two", Values: normal(r, 1, 700)[0]}}},
		"bars_many":      Bars{Title: "Many", YLabel: "weight", Labels: names("feature ", 300), Values: normal(r, 1, 300)[0]},
		"bars_thousands": Bars{Title: "Thousands", Labels: names("feature ", 5000), Values: normal(r, 1, 5000)[0]},
		"attention_few":  Attention{Title: "Attention, block 0", Tokens: tokens(14), Heads: names("head ", 4), Patterns: patterns(r, 4, 14)},
		"attention_many": Attention{Title: "Attention of all heads", Tokens: tokens(64), Heads: names("L0H", 48), Patterns: patterns(r, 48, 64)},
		"attention_one":  Attention{Title: "One head", Tokens: tokens(120), Patterns: patterns(r, 1, 120)},
		"attention_diff": Attention{Title: "Change of a pattern", Tokens: tokens(8), Heads: []string{"with − without"}, Patterns: []Matrix{normal(r, 8, 8)}},
		"wiring_50":      wiring(r, 5, 8),
		"wiring_small":   Wiring{Title: "Loops", Nodes: []WiringNode{{"a", 0}, {"b", 1}, {"c", 1}, {" d\n", 5}}, Edges: []WiringEdge{{From: 0, To: 1, Weight: 1}, {From: 1, To: 2, Weight: -0.5}, {From: 2, To: 1, Weight: 0.4}, {From: 3, To: 0, Weight: -2}, {From: 1, To: 3, Weight: 0.7}, {From: 2, To: 2, Weight: 1.5}, {From: 0, To: 3, Weight: math.NaN()}}},
	}
}

// worded returns a heatmap with a text in each cell.
func worded(rows, columns int) Heatmap {
	h := Heatmap{Title: "The likeliest token", XLabel: "token", YLabel: "after", Limits: []float64{0, 1}}
	for i := range rows {
		h.Values, h.Cells = append(h.Values, nil), append(h.Cells, nil)
		for j := range columns {
			h.Values[i] = append(h.Values[i], float64(i)/float64(rows))
			h.Cells[i] = append(h.Cells[i], []string{" the", "\n", "a", "extraordinarily long", ""}[(i+j)%5])
		}
	}
	return h
}

// TestEveryKindIsDrawn draws a figure of each kind; long tests draw more of each, and all tests the
// largest ones.
func TestEveryKindIsDrawn(t *testing.T) {
	folder := os.Getenv("FIGURE_GALLERY") // to look at them
	if folder == "" {
		folder = t.TempDir()
	}
	all, kinds := gallery(), map[string]bool{}
	if longtest.Exhaustive() {
		maps.Copy(all, giants())
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		t.Run(name, func(t *testing.T) {
			kind := fmt.Sprintf("%T", f)
			longtest.Represent(t, longtest.Enabled() || !kinds[kind])
			kinds[kind] = true
			picture, err := PNG(f)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644))
			drawn, err := png.Decode(bytes.NewReader(picture))
			require.NoError(t, err)
			assert.Less(t, drawn.Bounds().Dx()*drawn.Bounds().Dy(), 15_000_000)
			requireMargin(t, drawn)
			svg, err := SVG(f)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(folder, name+".svg"), svg, 0o644))
			assert.Less(t, len(svg), 3_000_000)
		})
	}
}
