package experiment

import (
	"context"
	"fmt"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// Kind says what varies within the series of an experiment, and what to report. It is a struct
// whose tagged fields are its keys in an experiment's config. Kinds lists the kinds of this
// package; models.Zoo.WithKinds adds one of another module.
type Kind interface {
	Name() string // name in configs
	// Check returns an error for a config that the kind cannot use.
	Check(c *Config) error
	// Points returns the points of a series, each of which runs with all seeds.
	Points(of Source) ([]Point, error)
	// Report reports on the completed runs.
	Report(r *Results) Report
}

// Kinds lists all kinds of this package, with their defaults, and those of a zoo.
func Kinds(zoo models.Zoo) []settings.Kinded {
	all := []settings.Kinded{Scaling{}, Reach{Evaluations: 40}, Sweep{}, Capacity{Accuracy: 0.9}, Variants{Evaluations: 1}, Search{Draws: 100}, Lengths{},
		Cards{Baseline: "quickstart-transformer"}, Coordinates{Widths: []int{1, 2, 4, 8}}}
	for _, kind := range models.KindsOf[Kind](zoo) {
		all = append(all, kind)
	}
	return all
}

// Optional interfaces of a Kind.
type (
	// Evaluator is a kind whose runs are evaluated several times, the last time at their end.
	Evaluator interface{ TimesEvaluated() int }
	// Gatherer is a kind that takes its series from the zoo, to which it may add presets for them.
	Gatherer interface {
		Gather(zoo models.Zoo) (models.Zoo, []Series, error)
	}
	// Measurer is a kind whose runs are measured in memory instead of being trained to their end in
	// a folder. Measure adds what it has measured to the run's line for the log.
	Measurer interface {
		Measure(ctx context.Context, run *runconfig.Run, text *data.Corpus, r *Record) error
	}
)

// Plain is embedded by most kinds: it checks nothing and has one point.
type Plain struct{}

// Check returns nil.
func (Plain) Check(*Config) error { return nil }

// Points returns a single point without settings.
func (Plain) Points(Source) ([]Point, error) { return []Point{{}}, nil }

// Source is a series for which Points makes points.
type Source struct {
	Series string
	Run    func() (*runconfig.Run, error) // reads the series' run config
}

// Point holds the settings of a series' runs.
type Point struct {
	Label  string             // part of run names; "" if a series has one point
	Values map[string]float64 // of the keys that vary
	Key    string             // key in the experiment's config that the point comes from, for errors
	Set    []Assignment
}

// Assignment is a setting and the key that it comes from.
type Assignment struct {
	Text string // like train.lr=1e-2
	Key  string // key in the experiment's config
}

// assignments reads the list at a key of the experiment's config.
func assignments(list []string, key string) []Assignment {
	var all []Assignment
	for i, text := range list {
		all = append(all, Assignment{text, index(key, i)})
	}
	return all
}

// index returns the key of a list's entry.
func index(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// joined joins the nonempty parts of a run's name.
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
