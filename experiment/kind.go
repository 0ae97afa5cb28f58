package experiment

import (
	"context"
	"fmt"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/settings"
)

// Kind is what varies within the series of an experiment, and what is reported. It is a struct
// whose tagged fields are its keys in an experiment's config; Kinds lists those of this package, and
// models.Zoo.WithKinds adds one of another module.
type Kind interface {
	Name() string // in configs
	// Check looks for what no experiment of the kind can be made with.
	Check(c *Config) error
	// Points are what a series is run with, each with all seeds.
	Points(of Source) ([]Point, error)
	// Report is made of the runs that are complete.
	Report(r *Results) Report
}

// Kinds are all of this package, each with its defaults, and those of a zoo.
func Kinds(zoo models.Zoo) []settings.Kinded {
	all := []settings.Kinded{Scaling{}, Reach{Evaluations: 40}, Sweep{}, Variants{Evaluations: 1}, Search{Draws: 100},
		Cards{Baseline: "quickstart-transformer"}, Coordinates{Widths: []int{1, 2, 4, 8}}}
	for _, kind := range models.KindsOf[Kind](zoo) {
		all = append(all, kind)
	}
	return all
}

// A kind may do more than a Kind must.
type (
	// evaluator is a kind whose runs are evaluated more than once, the last time at their end.
	evaluator interface{ evaluations() int }
	// gatherer is a kind that has its series from the zoo, and presets of its own for them.
	gatherer interface {
		series(zoo models.Zoo) (models.Zoo, []Series, error)
	}
	// measurer is a kind whose runs are not trained to their end in a folder, but measured in
	// memory.
	measurer interface {
		measure(ctx context.Context, run *config.Run, text *data.Corpus, r *Record) error
	}
)

// Plain is what most kinds embed: nothing to check, and one point.
type Plain struct{}

// Check finds nothing.
func (Plain) Check(*Config) error { return nil }

// Points is one, without settings.
func (Plain) Points(Source) ([]Point, error) { return []Point{{}}, nil }

// Source is what points are made of: a series.
type Source struct {
	Series string
	Run    func() (*config.Run, error) // reads the series' own
}

// Point is the settings that a series is run with.
type Point struct {
	Label  string             // in names of runs; "" where a series has one point
	Values map[string]float64 // of keys that vary
	Key    string             // of the experiment's config where it stands, for errors
	Set    []Assignment
}

// Assignment is a setting and where it stands.
type Assignment struct {
	Text string // as in train.lr=1e-2
	Key  string // of the experiment's config
}

// assignments reads a list at a key of the experiment's config.
func assignments(list []string, key string) []Assignment {
	var all []Assignment
	for i, text := range list {
		all = append(all, Assignment{text, index(key, i)})
	}
	return all
}

// index is the key of a list's entry.
func index(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// joined joins the parts of a run's name that are not empty.
func joined(parts ...string) string {
	name := ""
	for _, p := range parts {
		if p != "" && name != "" {
			name += "-"
		}
		name += p
	}
	return name
}
