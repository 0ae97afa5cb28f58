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
// whose tagged fields are its keys in an experiment's config; Kinds lists all.
type Kind interface {
	Name() string // in configs
	// check looks for what no experiment of the kind can be made with.
	check(c *Config) error
	// points are what a series is run with, each with all seeds.
	points(of source) ([]point, error)
	// report is made of the runs that are complete.
	report(r *results) Report
}

// Kinds are all of this package, each with its defaults.
func Kinds() []settings.Kinded {
	return []settings.Kinded{Scaling{}, Reach{Evaluations: 40}, Sweep{}, Variants{Evaluations: 1}, Search{Draws: 100},
		Cards{Baseline: "quickstart-transformer"}, Coordinates{Widths: []int{1, 2, 4, 8}}}
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

// plain is what most kinds have in common: nothing to check, and one point.
type plain struct{}

func (plain) check(*Config) error { return nil }

func (plain) points(source) ([]point, error) { return []point{{}}, nil }

// source is what points are made of: a series.
type source struct {
	series string
	run    func() (*config.Run, error) // reads the series' own
}

// point is the settings that a series is run with.
type point struct {
	label  string             // in names of runs; "" where a series has one point
	values map[string]float64 // of keys that vary
	key    string             // of the experiment's config where it stands, for errors
	set    []assignment
}

// assignment is a setting and where it stands.
type assignment struct {
	text string // as in train.lr=1e-2
	key  string // of the experiment's config
}

// assignments reads a list at a key of the experiment's config.
func assignments(list []string, key string) []assignment {
	var all []assignment
	for i, text := range list {
		all = append(all, assignment{text, index(key, i)})
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
