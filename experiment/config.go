package experiment

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/residua-go/residua/settings"
)

// Config is an experiment: many runs of one run config under different settings, and the report that is made of them.
// Settings are assignments as train's -set takes them; a later one wins: the experiment's own, those of a series, those
// of a point of the series.
type Config struct {
	Name               string   `yaml:"name" default:"the file's name" help:"name of the experiment"`
	Base               string   `yaml:"base" default:"required" help:"the run config that all runs start from: a file, or the name of a built-in one (train -configs lists them)"`
	Set                []string `yaml:"set" help:"settings of all runs, as in [data.source=files, train.lr=1e-2]; device.threads is 1 where nothing sets it, as runs are trained side by side"`
	Series             []Series `yaml:"series" default:"required" help:"what is compared, the baseline first: a list of {name: rmt, set: [model.preset=quickstart]}"`
	Seeds              int      `yaml:"seeds" min:"1" max:"10000" help:"runs of each point, with the seeds 0, 1, 2, ... of weights and batches"`
	TokensPerParameter float64  `yaml:"tokens_per_parameter" min:"0" max:"1000000" help:"tokens of a run: this many for each parameter outside the embedding, position and unembedding tables (Hoffmann et al. 2022: 20); 0: as train.steps or train.tokens say"`
	Kind               Kind     `yaml:"experiment" default:"required" help:"what varies within a series, and what is reported"`

	where *settings.Positions
}

// Series is one of the things that an experiment compares.
type Series struct {
	Name string   `yaml:"name"`
	Set  []string `yaml:"set"`
}

// defaults is what a file's keys override.
func defaults() Config { return Config{Seeds: 1} }

// kinds are those of the section experiment.
func kinds() settings.Kinds {
	return settings.Kinds{reflect.TypeFor[Kind](): {Scaling{}, Reach{Evaluations: 40}, Sweep{}, Variants{}, Search{Draws: 100}}}
}

// Keys lists the keys of an experiment's config.
func Keys() ([]settings.Key, error) { return settings.Keys(kinds(), defaults()) }

// Load reads an experiment's config from a file. What is wrong with it is a *SetupError that names the line.
func Load(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, Setupf("want the YAML file of an experiment: %v", err)
	}
	return Parse(file, text)
}

// Parse is Load of a text; file names it in messages and, without its extension, the experiment.
func Parse(file string, text []byte) (*Config, error) {
	c := defaults()
	where, err := settings.Decode(kinds(), file, text, &c)
	if err != nil {
		return nil, Setup(err)
	}
	c.where = where
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return &c, Setup(c.check())
}

// plainName is what names of runs are made of: they are folders.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// check returns the first thing that no experiment can be made with.
func (c *Config) check() error {
	switch {
	case c.Base == "":
		return c.where.Errorf("base", "want a run config, a file or a built-in one's name, got none")
	case c.Kind == nil:
		return c.where.Errorf("experiment", "want a section with the key kind, got none")
	case len(c.Series) == 0:
		return c.where.Errorf("series", "want one or more, as in [{name: rmt, set: [model.preset=quickstart]}], got none")
	}
	for i, s := range c.Series {
		key := index("series", i) + ".name"
		if !plainName.MatchString(s.Name) {
			return c.where.Errorf(key, "want letters, digits, '.', '_' and '-', as it names folders, got %q", s.Name)
		}
		if slices.ContainsFunc(c.Series[:i], func(other Series) bool { return other.Name == s.Name }) {
			return c.where.Errorf(key, "want a name of its own for each series, got %q twice", s.Name)
		}
	}
	if err := c.Kind.check(c); err != nil {
		return err
	}
	return c.checkPoints()
}

// checkPoints wants a name of its own for each run.
func (c *Config) checkPoints() error {
	for _, s := range c.Series {
		seen := map[string]bool{}
		for _, p := range c.Kind.points(c, s.Name) {
			if p.label != "" && !plainName.MatchString(p.label) {
				return c.where.Errorf(p.key, "want letters, digits, '.', '_' and '-', as it names folders, got %q", p.label)
			}
			if seen[p.label] {
				return c.where.Errorf(p.key, "want each once, got %q twice", p.label)
			}
			seen[p.label] = true
		}
	}
	return nil
}
