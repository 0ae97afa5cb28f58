package experiment

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/settings"
)

// Config describes an experiment: many runs of one run config under different settings, and a
// report about them. Settings are assignments as in train's -set. Those of a point override
// those of its series, and these override the experiment's own.
type Config struct {
	Name   string   `yaml:"name" default:"the file's name" help:"name of the experiment"`
	Base   string   `yaml:"base" default:"required"`
	Set    []string `yaml:"set" help:"settings of all runs, as in [data.source=files, train.lr=1e-2]; device.threads is 1 unless set"`
	Series []Series `yaml:"series" default:"required, but of cards and coordinates"`

	Seeds     int            `yaml:"seeds" min:"1" max:"10000" help:"runs of each point, with the seeds first_seed, first_seed + 1, ..."`
	FirstSeed uint64         `yaml:"first_seed" help:"the first of the seeds; with rates: bracket, 1 leaves out the runs that chose the rate"`
	SeedsOf   map[string]int `yaml:"seeds_of" help:"series that have another number of seeds, as in {rmt: 8}"`

	Rates string `yaml:"rates" choices:"config, bracket"`

	Tokens             int64   `yaml:"tokens" min:"0" max:"1000000000000000000" help:"tokens of each run, up to whole steps; 0: as the base config says"`
	FLOPs              float64 `yaml:"flops" min:"0" max:"1e30" help:"FLOPs of each run's training, as in 1e14, which give its tokens; 0: none"`
	TokensPerParameter float64 `yaml:"tokens_per_parameter" min:"0" max:"1000000"`

	Contrasts [][]string `yaml:"contrasts"`
	Page      string     `yaml:"report" default:"report.md in the experiment's folder" help:"file of the report; its picture lies next to it"`
	Kind      Kind       `yaml:"experiment" default:"required" help:"the kind of experiment: what varies within a series, and what is reported"`

	where *settings.Positions
}

// Help returns the help texts that are too long for tags, by key.
func (Config) Help() map[string]string {
	return map[string]string{
		"base": "the run config that all runs start from: a file, or the name of a built-in one (train -configs lists them). The " +
			"experiment's folder keeps a copy, which counts from then on",
		"series": "what is compared, the baseline first: a list of {name: rmt, set: [model.preset=quickstart]}",
		"rates": "config: train.lr. bracket: seed 0 searches each point's peak learning rate, from train.lr on, among four a decade " +
			"(0.001, 0.0018, 0.0032, 0.0056, 0.01, ...), until the best has a worse one on either side; all seeds are trained at it",
		"tokens_per_parameter": "tokens of a run: this many for each parameter outside the embedding, position and unembedding tables (Hoffmann et al. " +
			"2022: 20); 0: none",
		"contrasts": "pairs of names in the report, as in [[rmt, transformer]]: does the first end with the lower loss, seed by seed? Tests " +
			"correct for the number of contrasts",
	}
}

// Series is one of the alternatives that an experiment compares.
type Series struct {
	Name string   `yaml:"name"`
	Set  []string `yaml:"set"`
}

// bracket is a value of the key rates.
const bracket = "bracket"

// defaults returns the values of keys that a file does not set.
func defaults() Config { return Config{Seeds: 1, Rates: "config"} }

// byType lists what the section experiment may hold.
func byType(kinds []settings.Kinded) settings.Kinds {
	return settings.Kinds{reflect.TypeFor[Kind](): kinds}
}

// Keys lists the keys of an experiment's config.
func Keys(kinds []settings.Kinded) ([]settings.Key, error) {
	return settings.Keys(byType(kinds), defaults())
}

// Load reads an experiment's config from a file and applies assignments such as seeds=1 to it. If
// the config is wrong, the error is a *SetupError that names the line.
func Load(kinds []settings.Kinded, file string, sets []string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, setupErrorf("want the YAML file of an experiment: %v", err)
	}
	return parse(kinds, file, text, sets)
}

// parse reads a config from a text; file is its name in messages and, without its extension, the
// experiment's name.
func parse(kinds []settings.Kinded, file string, text []byte, sets []string) (*Config, error) {
	c := defaults()
	where, err := settings.Reader{Kinds: byType(kinds)}.Read(&c, file, text, sets)
	if err == nil {
		err = settings.CheckBounds(&c, where)
	}
	if err != nil {
		return nil, setupError(err)
	}
	c.where = where
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return &c, setupError(c.check())
}

// check returns the first error in the config.
func (c *Config) check() error {
	switch {
	case c.Base == "":
		return c.where.Errorf("base", "want a run config, a file or a built-in one's name, got none")
	case c.Kind == nil:
		return c.where.Errorf("experiment", "want a section with the key kind, got none")
	case c.Tokens > 0 && c.FLOPs+c.TokensPerParameter > 0 || c.FLOPs > 0 && c.TokensPerParameter > 0:
		return c.where.Errorf("tokens", "want one of tokens, flops and tokens_per_parameter, got %d, %g and %g", c.Tokens, c.FLOPs, c.TokensPerParameter)
	}
	_, gathers := c.Kind.(Gatherer)
	switch {
	case gathers && len(c.Series) > 0:
		return c.where.Errorf("series", "want none with the kind %s, whose series are the designs', got %d", c.Kind.Name(), len(c.Series))
	case !gathers && len(c.Series) == 0:
		return c.where.Errorf("series", "want one or more, as in [{name: rmt, set: [model.preset=quickstart]}], got none")
	}
	for i, s := range c.Series {
		twice := slices.ContainsFunc(c.Series[:i], func(other Series) bool { return strings.EqualFold(other.Name, s.Name) })
		if err := c.checkName(s.Name, index("series", i)+".name", twice); err != nil {
			return err
		}
	}
	return c.Kind.Check(c)
}

// tuningSeed returns the seed of a cell's first run, which is the run that chooses the rate if
// rates are searched.
func (c *Config) tuningSeed() uint64 {
	if c.Rates == bracket {
		return 0
	}
	return c.FirstSeed
}

// plainName matches the parts of run names, which become folder names.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// checkName requires a name that can be a folder's and that has not been used before, in whatever
// case.
func (c *Config) checkName(name, key string, twice bool) error {
	switch {
	case !plainName.MatchString(name):
		return c.where.Errorf(key, "want letters, digits, '.', '_' and '-', as it names folders, got %q", name)
	case twice:
		return c.where.Errorf(key, "want each once, since it names folders, and some file systems ignore case, got %q twice", name)
	}
	return nil
}
