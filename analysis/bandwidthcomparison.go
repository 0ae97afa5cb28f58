package analysis

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// BandwidthComparison is the bandwidth of several models.
type BandwidthComparison struct {
	Models []ModelBandwidth `json:"models"`
}

// ModelBandwidth is one model's.
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

// CompareBandwidth counts the dimensions of named models, models.Standard().Presets() for one.
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

// Table has a row a model.
func (b *BandwidthComparison) Table() figure.Table {
	t := figure.NewTable("bandwidth of residual streams", "llrrrrrr",
		"model", "stream", "dimensions", "reached by a write", "share", "written", "read", "written / dimensions")
	for _, m := range b.Models {
		t.Row(m.Name, m.Stream, m.Dimensions, m.Width, m.Share, m.Written, m.Read, m.Ratio)
	}
	return t
}

// Figures are bars of what is written a dimension of the stream.
func (b *BandwidthComparison) Figures() []figure.Figure {
	bars := figure.NewBars("Dimensions written into the stream, for each that it has", "written / dimensions")
	for _, m := range b.Models {
		bars.Add(m.Name, m.Ratio)
	}
	return []figure.Figure{bars}
}
