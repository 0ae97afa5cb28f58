package analysis

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// count counts each layer's neurons by their cosine, [layer][bin], in bins of equal width
// from -reach to reach.
func (e *Erasure) count(reach float64) [][]int {
	counts := make([][]int, len(e.Layers)) // [layer][bin]
	for l, layer := range e.Layers {
		counts[l] = make([]int, histogramBins)
		for _, v := range layer.Neurons {
			bin := int(math.Floor((v/reach + 1) / 2 * histogramBins))
			counts[l][min(max(bin, 0), histogramBins-1)]++
		}
	}
	return counts
}

// reach returns the largest |cosine| that the figures show: the largest one there is, but at
// least 4 standard deviations of random directions.
func (e *Erasure) reach() float64 {
	reach := min(1, 4/math.Sqrt(float64(e.Dimensions)))
	for _, layer := range e.Layers {
		for _, v := range layer.Neurons {
			reach = max(reach, math.Abs(v))
		}
	}
	return reach
}

// randomCosineDensity is the density at x of the cosine of two random directions of d
// dimensions, of mean 0 and variance 1/d:
//
//	p(x) = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) (1-x^2)^((d-3)/2)
func randomCosineDensity(x float64, d int) float64 {
	if d < 2 || math.Abs(x) >= 1 {
		return 0
	}
	above, _ := math.Lgamma(float64(d) / 2)
	below, _ := math.Lgamma(float64(d-1) / 2)
	return math.Exp(above-below+float64(d-3)/2*math.Log1p(-x*x)) / math.Sqrt(math.Pi)
}

// Table lists the strongest erasers.
func (e *Erasure) Table() figure.Table {
	t := figure.NewTable("heads and neurons that erase most of what they read", "lrr",
		"part", "cosine of read and written", "deviations of random ones")
	t.Note = "cosine: -1 where a part writes the opposite of the direction that it reads, and so erases what it finds\n" +
		"there; deviations: the cosine in standard deviations of that of random directions."
	for _, s := range e.Strongest(listed) {
		t.Row(e.name(s), s.Cosine, e.deviations(s))
	}
	return t
}

// deviations returns a cosine divided by the standard deviation for random directions.
func (e *Erasure) deviations(s Eraser) string {
	d := e.Dimensions
	if s.Part == stream.HeadPart {
		d = e.HeadDimensions
	}
	return fmt.Sprintf("%.1f", s.Cosine*math.Sqrt(float64(d)))
}

// name numbers an expert's neurons separately.
func (e *Erasure) name(s Eraser) string {
	if s.Part != "neuron" || e.Experts == 0 {
		return s.Name()
	}
	each := len(e.Layers[0].Neurons) / e.Experts
	return fmt.Sprintf("%s expert %d neuron %d", s.Site, s.Index/each, s.Index%each)
}

// histogramBins is the number of bins in figures.
const histogramBins = 60

// Figures shows the neurons' cosines by layer, if there are neurons, compared with cosines of
// random directions, and the heads' cosines.
func (e *Erasure) Figures() []figure.Figure {
	heads := figure.Heatmap{Title: "Heads: cosine of what is read and written", XLabel: "head", YLabel: "layer", Diverging: true}
	for _, layer := range e.Layers {
		heads.Values = append(heads.Values, layer.Heads)
	}
	if len(e.Layers[0].Neurons) == 0 {
		return []figure.Figure{heads}
	}
	return []figure.Figure{e.density(), e.byLayer(), heads}
}

// density draws the distribution of all neurons' cosines.
func (e *Erasure) density() figure.Lines {
	l := figure.NewLines("Neurons: cosine of what is read and written", "cosine", "density", "neurons",
		fmt.Sprintf("random directions of %d dimensions", e.Dimensions))
	reach, total, sums := e.reach(), 0, make([]int, histogramBins)
	for _, counts := range e.count(reach) {
		for b, n := range counts {
			sums[b], total = sums[b]+n, total+n
		}
	}
	for b, n := range sums {
		x := binCentre(b, reach)
		l.Add(x, float64(n)/float64(total)/(2*reach/histogramBins), randomCosineDensity(x, e.Dimensions))
	}
	return l
}

func binCentre(b int, reach float64) float64 { return reach * (2*(float64(b)+0.5)/histogramBins - 1) }

// byLayer maps the shares of each layer's neurons.
func (e *Erasure) byLayer() figure.Heatmap {
	h := figure.Heatmap{Title: "Share of a layer's neurons, by cosine", XLabel: "cosine", YLabel: "layer"}
	reach := e.reach()
	for b := range histogramBins {
		h.Columns = append(h.Columns, fmt.Sprintf("%.3f", binCentre(b, reach)))
	}
	for l, counts := range e.count(reach) {
		row := make([]float64, len(counts))
		for b, n := range counts {
			row[b] = float64(n) / float64(len(e.Layers[l].Neurons))
		}
		h.Values = append(h.Values, row)
	}
	return h
}
