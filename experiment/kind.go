package experiment

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// Kind is what varies within the series of an experiment, and what is reported: Scaling, Reach, Sweep, Variants or
// Search.
type Kind interface {
	Name() string // in configs
	// check looks for what no experiment of the kind can be made with.
	check(c *Config) error
	// points are what a series is run with, each with all seeds.
	points(c *Config, series string) []point
	// evaluations is how many evaluations a run makes, the last at its end.
	evaluations() int
	// report is made of the runs that are complete.
	report(r *results) (tables []figure.Table, picture figure.Figure, notes []string)
}

// point is the settings that a series is run with.
type point struct {
	label string  // in names of runs; "" where a series has one point
	value float64 // of what is swept
	key   string  // of the experiment's config where it stands, for errors
	set   []assignment
}

// assignment is a setting and where it stands.
type assignment struct {
	text string // as in train.lr=1e-2
	key  string // of the experiment's config
}

// assignments are those of a list at a key of the experiment's config.
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
