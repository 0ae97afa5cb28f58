package analysis

import (
	"fmt"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// Bandwidth compares the dimensions of a residual stream with those that communicate through
// it (Elhage et al. 2021, "Subspaces and Residual Stream Bandwidth"): entries of heads'
// outputs and neurons write into it, entries of queries, keys and values and neurons read from
// it, and they are many more than the stream has: in a transformer one feed-forward has four
// times as many neurons alone. The RMT's stream has Dk*Dv of them, of which one site reaches
// R*Dv; streams of n rows have n*D, of which one site reaches D.
type Bandwidth struct {
	Stream     string          `json:"stream"`
	Dimensions int             `json:"dimensions"` // models.Config.StreamSize: without the LSTM's cell and what an aggregate waits for
	Sites      []SiteBandwidth `json:"sites"`      // in the order of the run
}

// SiteBandwidth counts the dimensions at one site.
type SiteBandwidth struct {
	Site   string `json:"site"`
	Reads  int    `json:"reads"`  // computed from the stream here: entries of q, k and v, neurons, gates
	Writes int    `json:"writes"` // added to it here: entries of heads' outputs, neurons, a table's row
	// Width is the largest number of the stream's dimensions that one write reaches, the rank
	// of the way from what is computed to the stream; 0 where nothing is written.
	Width  int     `json:"width"`
	Before int     `json:"before"` // all Writes so far, these among them
	After  int     `json:"after"`  // all Reads behind this site
	Ratio  float64 `json:"ratio"`  // Before / Dimensions
}

// CountBandwidth counts a model's dimensions. Every stream has this analysis; it needs no
// weights.
func CountBandwidth(c models.Config) (*Bandwidth, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.Resolve()
	b := &Bandwidth{Stream: c.Stream, Dimensions: c.StreamSize(), Sites: bandwidthSites(c)}
	before, after := 0, 0
	for i := range b.Sites {
		s := &b.Sites[i]
		before += s.Writes
		s.Before, s.Ratio = before, float64(before)/float64(b.Dimensions)
	}
	for i := len(b.Sites) - 1; i >= 0; i-- {
		b.Sites[i].After = after
		after += b.Sites[i].Reads
	}
	return b, nil
}

// bandwidthSites lists the sites with their own dimensions.
func bandwidthSites(c models.Config) []SiteBandwidth {
	row, reached := c.Width(), writeReach(c)
	if c.Stream == models.StreamVWN && !c.ExpandEmbedding {
		row, reached = c.StreamSize(), c.StreamSize() // the tables are as wide as the slots
	}
	sites := []SiteBandwidth{{Site: embeddingSite, Writes: row, Width: reached}}
	if c.Positions == models.PositionsLearned {
		sites = append(sites, SiteBandwidth{Site: positionsSite, Writes: row, Width: reached})
	}
	for l := range c.Layers {
		sites = append(sites, blockBandwidth(c, l)...)
	}
	return append(sites, SiteBandwidth{Site: unembeddingSite, Reads: c.Width()})
}

// blockBandwidth is that of one block's sites.
func blockBandwidth(c models.Config, layer int) []SiteBandwidth {
	heads, neurons := c.HeadCount()*c.HeadDim(), c.FF*max(1, c.Experts)
	attention := SiteBandwidth{Site: siteName(layer, stream.Attention), Reads: 3 * heads, Writes: heads, Width: min(heads, writeReach(c))}
	feedForward := SiteBandwidth{Site: siteName(layer, stream.FeedForward), Reads: neurons, Writes: neurons, Width: min(neurons, writeReach(c))}
	switch c.Stream {
	case models.StreamDWLSTM:
		attention.Writes, attention.Width = 0, 0 // what heads find goes into the cell
		cell := SiteBandwidth{Site: fmt.Sprintf("blocks.%d.lstm", layer), Reads: 3*c.DModel + lstmNeurons*c.DModel, Writes: lstmNeurons * c.DModel, Width: c.DModel}
		return []SiteBandwidth{attention, cell}
	case models.StreamHighway:
		for _, s := range []*SiteBandwidth{&attention, &feedForward} {
			s.Reads, s.Writes, s.Width = s.Reads+2*c.DModel, s.Writes+c.DModel, c.DModel
		}
	case models.StreamHierAgg:
		if layer%stream.HieraggGroup == stream.HieraggGroup-1 {
			aggregate := SiteBandwidth{Site: fmt.Sprintf("blocks.%d.aggregate", layer), Reads: c.Inner, Writes: c.Inner, Width: min(c.Inner, c.DModel)}
			return []SiteBandwidth{attention, feedForward, aggregate}
		}
	}
	return []SiteBandwidth{attention, feedForward}
}

// lstmNeurons is the width of the depth-wise LSTM's hidden layer, of d_model.
const lstmNeurons = 4

// writeReach is how many dimensions one write reaches at most: as many rows of Dv entries as
// its R keys are independent, or D.
func writeReach(c models.Config) int {
	if c.Stream == models.StreamMatrix {
		return min(c.Rank, c.Dk) * c.Dv
	}
	return c.DModel
}

// Written is the sum of all sites' writes, and Read of their reads.
func (b *Bandwidth) Written() int { return b.Sites[len(b.Sites)-1].Before }

// Read is the sum of all sites' reads.
func (b *Bandwidth) Read() int { return b.Sites[0].After + b.Sites[0].Reads }

// widest is the largest Width of a site that is no table.
func (b *Bandwidth) widest() int {
	widest := 0
	for _, s := range b.Sites {
		if s.Reads > 0 {
			widest = max(widest, s.Width)
		}
	}
	return widest
}

// Table lists the sites.
func (b *Bandwidth) Table() figure.Table {
	t := figure.Table{Title: fmt.Sprintf("%s stream of %d dimensions", b.Stream, b.Dimensions), Align: "lrrrrrr",
		Header: []string{"site", "reads", "writes", "reached by a write", "written so far", "read later", "written / dimensions"}}
	for _, s := range b.Sites {
		t.Rows = append(t.Rows, []string{s.Site, fmt.Sprint(s.Reads), fmt.Sprint(s.Writes), fmt.Sprint(s.Width), fmt.Sprint(s.Before), fmt.Sprint(s.After), number(s.Ratio)})
	}
	return t
}

// Figures draws what has been written and what will be read, site by site, against the stream.
func (b *Bandwidth) Figures() []figure.Figure {
	l := figure.Lines{Title: fmt.Sprintf("Dimensions that share the %s stream", b.Stream), XLabel: "site, in the order of the run", YLabel: "dimensions"}
	before, after, size := figure.Series{Name: "written so far"}, figure.Series{Name: "read later"}, figure.Series{Name: "of the stream"}
	for i, s := range b.Sites {
		x := float64(i)
		before.X, before.Y = append(before.X, x), append(before.Y, float64(s.Before))
		after.X, after.Y = append(after.X, x), append(after.Y, float64(s.After))
		size.X, size.Y = append(size.X, x), append(size.Y, float64(b.Dimensions))
	}
	l.Series = []figure.Series{before, after, size}
	return []figure.Figure{l}
}
