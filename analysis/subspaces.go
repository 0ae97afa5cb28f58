package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// Subspaces are the parts of the stream that a model's sites read and write (Elhage et al.
// 2021, "Subspaces and Residual Stream Bandwidth"): the spectra of their weights, and how far
// what one site writes lies in what a later one reads.
//
// A stream of vectors is read by W_Q | W_K | W_V and W1, with the norms folded in, and written
// by W_O and W2, the experts' side by side, and by the tables as they are looked up, with muP's
// factor; the subspaces are of its D directions. A matrix
// stream is read and written by keys, and the subspaces are of the Dk directions of key space;
// the norms' gains enter as r * mean_v g[:, v].
//
// Streams of n rows of D entries mix rows, which moves nothing within a row: an overlap is
// as it is for one row, whatever the coefficients. What a virtual width network's mixing of
// slots and hierarchical aggregation's norms do on the way is left out, and so are
// highway's self-dependency units.
type Subspaces struct {
	Stream   string         `json:"stream"`
	Sites    []SiteSpectrum `json:"sites"`
	Overlaps []Overlap      `json:"overlaps"`
}

// SiteSpectrum is the spectrum of what one site reads or writes.
type SiteSpectrum struct {
	Site  string `json:"site"`
	Reads bool   `json:"reads"` // else it is what the site writes
	Spectrum
}

// Overlap is how far what a site writes lies in what a later site reads: the mean squared
// cosine of the principal angles between the top directions of both, those that hold
// energyShare of the weight's energy.
type Overlap struct {
	Writer    string  `json:"writer"`
	Reader    string  `json:"reader"`
	Cosine    float64 `json:"mean_squared_cosine"`
	Random    float64 `json:"random"`    // its mean if one of the two were drawn at random (randomOverlap)
	Deviation float64 `json:"deviation"` // its standard deviation then
}

// FindSubspaces measures what the sites of a model read and write. For a stream with D directions
// it solves about 4L+3 eigenvalue problems of D x D, one on each core at a time: some 20 seconds
// for the size of GPT-2 small on two cores.
func FindSubspaces(ctx context.Context, store *graph.Store, spec models.Spec) (*Subspaces, error) {
	f, err := Fold(store, spec)
	if err != nil {
		return nil, err
	}
	accesses := f.accesses()
	spectra, spaces, err := takeApart(ctx, accesses)
	if err != nil {
		return nil, err
	}
	s := &Subspaces{Stream: f.c.Stream.Name()}
	for i, a := range accesses {
		s.Sites = append(s.Sites, SiteSpectrum{a.site, a.reads, spectra[i]})
	}
	return s, s.overlaps(ctx, accesses, spaces)
}

// takeApart computes the spectra of all weights.
func takeApart(ctx context.Context, accesses []end) ([]Spectrum, []subspace, error) {
	spectra, spaces := make([]Spectrum, len(accesses)), make([]subspace, len(accesses))
	return spectra, spaces, numerics.Concurrently(ctx, len(accesses), func(i int) (err error) {
		spectra[i], spaces[i], err = spectrumOf(accesses[i])
		return errors.Wrapf(err, "what %s %s", accesses[i].site, Way(accesses[i].reads))
	})
}

// overlaps compares every write with every later read; weights of zeros have no directions to
// compare.
func (s *Subspaces) overlaps(ctx context.Context, accesses []end, spaces []subspace) error {
	for i, w := range accesses {
		if err := ctx.Err(); err != nil {
			return err
		}
		for j, r := range accesses {
			if w.reads || !r.reads || r.at <= w.at || spaces[i].directions == 0 || spaces[j].directions == 0 {
				continue
			}
			o := Overlap{Writer: w.site, Reader: r.site, Cosine: spaces[i].overlap(spaces[j])}
			o.Random, o.Deviation = randomOverlap(spaces[i].directions, spaces[j].directions, spaces[i].dimensions)
			s.Overlaps = append(s.Overlaps, o)
		}
	}
	return nil
}

// Table lists the spectra's ranks.
func (s *Subspaces) Table() figure.Table {
	t := figure.NewTable("what the sites read and write", "llrrrr",
		"site", "way", "dimensions", "effective rank", "stable rank", fmt.Sprintf("directions with %.0f%%", 100*energyShare))
	t.Note = "effective rank: how many directions are used, weighted by how much (exp of the entropy of their shares);\n" +
		"stable rank: all of it over the strongest direction; the last column: how many directions hold so much of\n" +
		"it."
	for _, site := range s.Sites {
		t.Row(site.Site, Way(site.Reads), site.Dimensions, site.Effective, site.Stable, site.Directions)
	}
	return t
}

// Figures are the ranks layer by layer, the spectra, and the overlaps above chance.
func (s *Subspaces) Figures() []figure.Figure {
	figures := []figure.Figure{
		s.ranks("Effective rank of what sites read and write", func(p Spectrum) float64 { return p.Effective }),
		s.ranks("Stable rank of what sites read and write", func(p Spectrum) float64 { return p.Stable }),
		s.spectra(true), s.spectra(false),
	}
	if len(s.Overlaps) > 0 {
		figures = append(figures, s.overlapMap())
	}
	return figures
}

// ranks plots one of the ranks of the sites, layer by layer.
func (s *Subspaces) ranks(title string, rank func(p Spectrum) float64) figure.Lines {
	l := figure.NewLines(title, "layer", "dimensions")
	for _, kind := range []stream.Sublayer{stream.Attention, stream.FeedForward} {
		for _, reads := range []bool{true, false} {
			series := figure.Series{Name: string(kind) + " " + Way(reads)}
			for _, site := range s.Sites {
				if site.Reads == reads && strings.HasSuffix(site.Site, string(kind)) {
					if len(series.X) == len(l.XNames) {
						l.XNames = append(l.XNames, strconv.Itoa(len(l.XNames)))
					}
					series.Add(float64(len(series.X)), rank(site.Spectrum))
				}
			}
			if series.X != nil {
				l.Series = append(l.Series, series)
			}
		}
	}
	return l
}

// spectra returns a map of the singular values, divided by the largest of their site, with a
// row for each site.
func (s *Subspaces) spectra(reads bool) figure.Heatmap {
	h := figure.Heatmap{Title: "Singular values of what is written, over the largest", XLabel: "number", YLabel: "site", Limits: unit()}
	if reads {
		h.Title = "Singular values of what is read, over the largest"
	}
	longest := 0
	for _, site := range s.Sites {
		longest = max(longest, len(site.Singular))
	}
	for _, site := range s.Sites {
		if site.Reads != reads {
			continue
		}
		row := slices.Repeat([]float64{math.NaN()}, longest)
		for i, v := range site.Singular {
			if site.Singular[0] > 0 {
				row[i] = v / site.Singular[0]
			}
		}
		h.Add(site.Site, row)
	}
	return h
}

// overlapMap returns a map of the overlaps minus the mean overlap of random subspaces, with a
// row for each writer and a column for each reader.
func (s *Subspaces) overlapMap() figure.Heatmap {
	h := figure.Heatmap{Title: "Mean squared cosine of written and read subspaces, minus that of random ones", XLabel: "read by", YLabel: "written by",
		Diverging: true}
	for _, o := range s.Overlaps {
		h.Set(o.Writer, o.Reader, o.Cosine-o.Random)
	}
	return h
}
