package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Bandwidth compares the dimensions of a residual stream with the dimensions that communicate
// through it (Elhage et al. 2021, "Subspaces and Residual Stream Bandwidth"). Entries of heads'
// outputs and neurons write into it, entries of queries, keys and values and neurons read from it,
// and there are many more of them than the stream has dimensions: in a transformer a single
// feed-forward has four times as many neurons. The RMT's stream has Dk*Dv dimensions and one site
// reaches R*Dv of them; streams of n rows have n*D and one site reaches D.
type Bandwidth struct {
	Stream     string          `json:"stream"`
	Dimensions int             `json:"dimensions"` // models.Spec.StreamSize: without the LSTM's cell and what an aggregate waits for
	Sites      []SiteBandwidth `json:"sites"`      // in the order of the run
}

// SiteBandwidth counts the dimensions at one site.
type SiteBandwidth struct {
	Site   string `json:"site"`
	Reads  int    `json:"reads"`  // computed from the stream here: entries of q, k and v, neurons, gates
	Writes int    `json:"writes"` // added to it here: entries of heads' outputs, neurons, a table's row
	// Width is the largest number of the stream's dimensions that one write reaches: the rank of
	// the map from what is computed to the stream. It is 0 where nothing is written.
	Width  int     `json:"width"`
	Before int     `json:"before"` // all Writes so far, these among them
	After  int     `json:"after"`  // all Reads after this site
	Ratio  float64 `json:"ratio"`  // Before / Dimensions
}

// CountBandwidth counts a model's dimensions. Every stream has this analysis; it needs no
// weights.
func CountBandwidth(spec models.Spec) (*Bandwidth, error) {
	m, err := planned(spec)
	if err != nil {
		return nil, err
	}
	b := &Bandwidth{Stream: spec.Stream.Name(), Dimensions: spec.StreamSize(), Sites: bandwidthSites(m)}
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

// bandwidthSites lists the sites with what each reads and writes by itself; Before and After
// are not set yet.
func bandwidthSites(m *models.Model) []SiteBandwidth {
	d := bandwidthDraft{m: m, frozen: staticForm(m)}
	d.add(nil, func(w stream.Writer) bool { return w.Table })
	for l := range m.Spec().Depth() {
		prefix := fmt.Sprintf("blocks.%d.", l)
		d.add(m.Stream().Sites(l), func(w stream.Writer) bool { return strings.HasPrefix(w.Name, prefix) })
	}
	return append(d.sites, SiteBandwidth{Site: unembeddingSite, Reads: m.Spec().Features()})
}

// bandwidthDraft collects the sites.
type bandwidthDraft struct {
	m      *models.Model
	frozen *stream.Frozen // or nil
	sites  []SiteBandwidth
}

// add appends the sites and counts the writers that of accepts. A writer counts with the site
// whose name its own name begins with; any other gets a site for itself.
func (d *bandwidthDraft) add(sites []stream.Site, of func(w stream.Writer) bool) {
	first := len(d.sites)
	for _, site := range sites {
		d.sites = append(d.sites, SiteBandwidth{Site: site.Name(), Reads: d.reads(site)})
	}
	for _, w := range d.m.Writers() {
		if !of(w) {
			continue
		}
		i := slices.IndexFunc(d.sites[first:], func(s SiteBandwidth) bool { return strings.HasPrefix(w.Name+".", s.Site+".") })
		if i < 0 {
			d.sites = append(d.sites, SiteBandwidth{Site: w.Name})
			i = len(d.sites) - 1 - first
		}
		s, written := &d.sites[first+i], d.written(w)
		s.Reads, s.Writes, s.Width = s.Reads+w.Reads, s.Writes+written, max(s.Width, min(written, d.reached(w)))
	}
}

// reads returns how many numbers a site computes from the stream: entries of q, k and v, or
// neurons.
func (d *bandwidthDraft) reads(site stream.Site) int {
	if c := d.m.Spec(); site.Sublayer == stream.Attention {
		return (c.HeadCount() + 2*c.KVHeads()) * c.HeadDim()
	}
	return d.neurons(site.Name())
}

// neurons returns the number of a feed-forward's neurons, over all experts.
func (d *bandwidthDraft) neurons(site string) int {
	return d.m.Store().Param(d.m.Spec().ParameterName(site+".w2")).Size() / d.m.Spec().Width()
}

// written returns how many numbers a writer writes for a token: entries of a table's row or of
// the heads' outputs, neurons, or, for any other writer, the width of its output.
func (d *bandwidthDraft) written(w stream.Writer) int {
	switch c := d.m.Spec(); {
	case w.Table:
		return c.Shape().TableWidth
	case w.Part == stream.HeadPart:
		return c.HeadCount() * c.HeadDim()
	case w.Part == "neuron":
		return w.Parts
	case w.Part == "expert":
		return d.neurons(w.Name)
	default:
		return c.Width()
	}
}

// reached returns how many of the stream's dimensions a writer can reach. For keys it assumes
// that they are linearly independent.
func (d *bandwidthDraft) reached(w stream.Writer) int {
	if d.frozen == nil {
		return d.m.Spec().Width()
	}
	up, err := d.frozen.Up(w.Source)
	if err != nil {
		return 0
	}
	in, out := up.Sizes()
	return min(in, out)
}

// Written returns the sum of all sites' writes.
func (b *Bandwidth) Written() int { return b.Sites[len(b.Sites)-1].Before }

// Read returns the sum of all sites' reads.
func (b *Bandwidth) Read() int { return b.Sites[0].After + b.Sites[0].Reads }

// widest returns the largest Width of a site that is not a table.
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
	t := figure.NewTable(fmt.Sprintf("%s stream of %d dimensions", b.Stream, b.Dimensions), "lrrrrrr",
		"site", "reads", "writes", "reached by a write", "written so far", "read later", "written / dimensions")
	for _, s := range b.Sites {
		t.Row(s.Site, s.Reads, s.Writes, s.Width, s.Before, s.After, s.Ratio)
	}
	return t
}

// Figures plots, site by site, how many dimensions have been written and how many will be read,
// next to the dimensions of the stream.
func (b *Bandwidth) Figures() []figure.Figure {
	l := figure.NewLines(fmt.Sprintf("Dimensions that share the %s stream", b.Stream), "site", "dimensions", "written so far", "read later", "of the stream")
	for _, s := range b.Sites {
		l.AddNamed(s.Site, float64(s.Before), float64(s.After), float64(b.Dimensions))
	}
	return []figure.Figure{l}
}

// BandwidthComparison is the bandwidth of several models.
type BandwidthComparison struct {
	Models []ModelBandwidth `json:"models"`
}

// ModelBandwidth is the bandwidth of one model.
type ModelBandwidth struct {
	Name       string  `json:"name"`
	Stream     string  `json:"stream"`
	Dimensions int     `json:"dimensions"`
	Width      int     `json:"width"`   // the most that one site's write reaches
	Share      float64 `json:"share"`   // Width / Dimensions
	Written    int     `json:"written"` // by all sites
	Read       int     `json:"read"`    // by all sites
	Ratio      float64 `json:"ratio"`   // Written / Dimensions
}

// CompareBandwidth counts the dimensions of named models, such as models.Standard().Presets().
func CompareBandwidth(presets []models.Preset) (*BandwidthComparison, error) {
	if len(presets) == 0 {
		return nil, check.Value("bandwidth", "at least one model to compare", "none")
	}
	all := &BandwidthComparison{}
	for _, p := range presets {
		c, err := p.Config.Resolve()
		if err != nil {
			return nil, errors.Wrapf(err, "%s", p.Name)
		}
		b, err := CountBandwidth(c)
		if err != nil {
			return nil, errors.Wrapf(err, "%s", p.Name)
		}
		m := ModelBandwidth{Name: p.Name, Stream: b.Stream, Dimensions: b.Dimensions, Width: b.widest(), Written: b.Written(), Read: b.Read()}
		m.Share, m.Ratio = float64(m.Width)/float64(m.Dimensions), float64(m.Written)/float64(m.Dimensions)
		all.Models = append(all.Models, m)
	}
	return all, nil
}

// Table has a row for each model.
func (b *BandwidthComparison) Table() figure.Table {
	t := figure.NewTable("bandwidth of residual streams", "llrrrrrr",
		"model", "stream", "dimensions", "reached by a write", "share", "written", "read", "written / dimensions")
	for _, m := range b.Models {
		t.Row(m.Name, m.Stream, m.Dimensions, m.Width, m.Share, m.Written, m.Read, m.Ratio)
	}
	return t
}

// Figures returns bars: for each model, the dimensions that are written divided by the
// dimensions that its stream has.
func (b *BandwidthComparison) Figures() []figure.Figure {
	bars := figure.NewBars("Dimensions written into the stream, for each that it has", "written / dimensions")
	for _, m := range b.Models {
		bars.Add(m.Name, m.Ratio)
	}
	return []figure.Figure{bars}
}
