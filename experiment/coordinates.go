package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// Coordinates is the coordinate check of the maximal update parametrisation (muP; Yang et al. 2022,
// Tensor Programs V, arXiv 2203.03466, appendix D.1). It trains models of growing width for a few
// steps on one batch, in memory, under muP and in the standard parametrisation, and compares the
// mean size of each activation's coordinates with the width. In a correct muP every activation, and
// its change by training, keeps its size as the width grows; in the standard parametrisation some
// blow up. Its series are small models of the designs for which muP is known. To see that the best
// rate stays the same needs trained runs: studies/mup-rates.yaml.
type Coordinates struct {
	Streams []string `yaml:"streams" default:"those whose sizes all grow" help:"what grows, as in [matrix, matrix-dv, vector]: a design, or one size of it"`
	Widths  []int    `yaml:"widths" help:"widths, as multiples of the smallest model's, two or more, ascending"`
}

// The parametrisations to compare. Both start hidden weights at N(0, 1/fan-in) and the unembedding
// at 0.
const (
	muP      = "muP"      // with the smallest model as its base
	standard = "standard" // one rate for all parameters, no multipliers
)

func parametrisations() []string { return []string{muP, standard} }

// Name returns "coordinates".
func (Coordinates) Name() string { return "coordinates" }

func (s Coordinates) Check(c *Config) error {
	switch {
	case len(s.Widths) < 2 || !slices.IsSorted(s.Widths) || s.Widths[0] < 1:
		return c.where.Errorf("experiment.widths", "want 2 or more ascending multiples of the smallest width, as in [1, 2, 4], got %v", s.Widths)
	case c.Rates == bracket:
		return c.where.Errorf("rates", "want config with the kind coordinates, which has no losses, got %s", c.Rates)
	}
	return nil
}

// scaling is a small model with the sizes that grow.
type scaling struct {
	name string // name of the design, and of the size that grows if not all of them do
	stream.WidthScaling
}

// scalingsOf lists the ways in which designs with a known muP can grow.
func scalingsOf(zoo models.Zoo) []scaling {
	var all []scaling
	for _, d := range zoo.Streams() {
		if scaled, ok := d.(stream.MuPDesign); ok {
			for _, g := range scaled.WidthScalings() {
				all = append(all, scaling{joined(d.Name(), g.Name), g})
			}
		}
	}
	return all
}

// small returns the smallest model. Its positions are learned: ALiBi's slopes depend on the number
// of heads, so that a wider model would compute another function.
func (s scaling) small() models.Config {
	c := models.Config{Layers: 2, Seq: 32, Init: models.InitLeCun, Stream: s.Base, Attention: models.Attention{Heads: s.Heads}}
	if shape := s.Base.Shape(); shape.Has(stream.FeedForward) {
		c.FeedForward = layers.GELUConfig{Hidden: 4 * shape.Width}
	}
	return c
}

func (s Coordinates) Gather(zoo models.Zoo) (models.Zoo, []Series, error) {
	var names []string
	wanted := s.Streams
	for _, g := range scalingsOf(zoo) {
		names = append(names, g.name)
		zoo = zoo.WithPresets(models.Preset{Name: g.name, Config: g.small()})
		if len(s.Streams) == 0 && g.WidthScaling.Name == "" {
			wanted = append(wanted, g.name)
		}
	}
	var all []Series
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return zoo, nil, errors.Errorf("streams: want some of %s, got %q", strings.Join(names, ", "), name)
		}
		all = append(all, Series{name, []string{"model.preset=" + name}})
	}
	return zoo, all, nil
}

// Points returns the widths under each parametrisation: each sets the sizes that grow and, under
// muP, those of the smallest model as the base.
func (s Coordinates) Points(of Source) ([]Point, error) {
	small, err := of.Run()
	if err != nil {
		return nil, err
	}
	grows := s.scaling(of.Series, small.Zoo())
	var all []Point
	for _, p := range parametrisations() {
		for i, width := range s.Widths {
			at := Point{Label: fmt.Sprintf("%s-x%d", p, width), Values: map[string]float64{widthKey: float64(width)}, Key: index("experiment.widths", i)}
			add := func(format string, args ...any) {
				at.Set = append(at.Set, Assignment{fmt.Sprintf(format, args...), at.Key})
			}
			if p == standard {
				add("model.mup=null")
			}
			for _, key := range grows.Keys {
				size, err := small.Model.Size(key)
				if err != nil {
					return nil, errors.WithStack(err)
				}
				add("model.%s=%d", key, size*width)
				if p == muP {
					add("model.mup.base.%s=%d", key, size)
				}
			}
			all = append(all, at)
		}
	}
	return all, nil
}

// scaling returns the scaling of a series.
func (s Coordinates) scaling(series string, zoo models.Zoo) scaling {
	all := scalingsOf(zoo)
	return all[slices.IndexFunc(all, func(g scaling) bool { return g.name == series })]
}

// widthKey is the key of the width among a point's values.
const widthKey = "width"
