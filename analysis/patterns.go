package analysis

import (
	"fmt"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// PatternName is the activation that holds the attention pattern of a layer, [token, head,
// key]: after the softmax, each row sums to 1.
func PatternName(layer int) string { return siteName(layer, stream.Attention) + ".pattern" }

// AttentionPatterns holds a layer's attention patterns for one row of tokens.
type AttentionPatterns struct {
	Layer    int           `json:"layer"`
	IDs      []int32       `json:"ids"`
	Patterns [][][]float64 `json:"patterns"` // [head][query][key]
}

// Patterns returns the attention patterns of a layer in a run of one row that kept
// PatternName(layer). It returns an error if the run has several rows, or if there is no such
// layer.
func Patterns(run *cache.Cache, layer int) (*AttentionPatterns, error) {
	if run.Batch != 1 {
		return nil, check.Value("patterns", "a run of 1 row", fmt.Sprintf("%d: run one at a time", run.Batch))
	}
	return patternsOf(run, layer, 0)
}

// patternsOf does what Patterns does, for one of the run's rows.
func patternsOf(run *cache.Cache, layer, row int) (*AttentionPatterns, error) {
	if err := check.Index("layer", layer, run.Model().Spec().Depth()); err != nil {
		return nil, err
	}
	a, err := run.Get(PatternName(layer))
	if err != nil {
		return nil, err
	}
	heads, seq := a.Shape[1], a.Shape[2]
	p := &AttentionPatterns{Layer: layer, IDs: run.IDs[row*run.Seq:][:run.Seq]}
	for h := range heads {
		pattern := make([][]float64, run.Seq)
		for i := range pattern {
			pattern[i] = a.Values[((row*run.Seq+i)*heads+h)*seq:][:seq]
		}
		p.Patterns = append(p.Patterns, pattern)
	}
	return p, nil
}

// HeadName names one of the heads, "blocks.3.attention.1".
func (p *AttentionPatterns) HeadName(head int) string { return headName(p.Layer, head) }

// Table lists how far back each head looks on average, and how much it attends to the token
// itself and to the first one.
func (p *AttentionPatterns) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("attention of layer %d", p.Layer), "lrrr",
		"head", "mean distance", "to itself", "to the first token")
	for h, pattern := range p.Patterns {
		distance, self, first := 0.0, 0.0, 0.0
		for i, row := range pattern {
			for j, w := range row {
				distance += w * float64(i-j)
			}
			self, first = self+row[i], first+row[0]
		}
		n := float64(len(pattern))
		t.Row(p.HeadName(h), distance/n, self/n, first/n)
	}
	return t
}

// Figures draws the patterns of all heads.
func (p *AttentionPatterns) Figures() []figure.Figure {
	f := figure.Attention{Title: fmt.Sprintf("Attention patterns of layer %d", p.Layer), Tokens: texts(p.IDs)}
	for h, pattern := range p.Patterns {
		f.Heads, f.Patterns = append(f.Heads, p.HeadName(h)), append(f.Patterns, pattern)
	}
	return []figure.Figure{f}
}
