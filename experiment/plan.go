package experiment

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/settings"
)

// Plan is the runs of an experiment.
type Plan struct {
	Config *Config
	Runs   []Planned // by series, point and seed
	out    string
}

// Planned is a run to be made.
type Planned struct {
	Name     string // of its folder: series-point-seedN
	Series   string
	Point    string
	Seed     uint64
	Settings []string // over the base
	Run      *config.Run

	digest string // of base and settings
}

// logFile and runsFolder lie in an experiment's folder.
const (
	logFile    = "log.jsonl"
	runsFolder = "runs"
)

// Plan reads the base config and returns all runs, each in a folder of its own below out. What is wrong with a setting is a *SetupError that
// names its line in the experiment's config.
func (c *Config) Plan(ctx context.Context, zoo models.Zoo, out string) (*Plan, error) {
	name, text, err := config.Read(ctx, c.Base)
	if err != nil {
		return nil, Setup(errors.WithMessage(err, "base"))
	}
	p := &Plan{Config: c, out: out}
	for i, s := range c.Series {
		for _, at := range c.Kind.points(c, s.Name) {
			settings := append([]assignment{{text: "device.threads=1"}}, assignments(c.Set, "set")...)
			settings = append(append(settings, assignments(s.Set, index("series", i)+".set")...), at.set...)
			for seed := range uint64(c.Seeds) {
				planned := Planned{Name: joined(s.Name, at.label, fmt.Sprint("seed", seed)), Series: s.Name, Point: at.label, Seed: seed}
				parse := func(sets []string) (*config.Run, error) {
					run, _, err := config.Parse(zoo, name, text, sets)
					return run, Setup(c.located(err, settings))
				}
				if err := planned.settle(c, settings, filepath.Join(out, runsFolder, planned.Name), parse); err != nil {
					return nil, err
				}
				planned.digest = digest(text, planned.Settings)
				p.Runs = append(p.Runs, planned)
			}
		}
	}
	return p, nil
}

// settle reads the run with its settings, and with what the experiment itself says of it.
func (p *Planned) settle(c *Config, settings []assignment, folder string, parse func(sets []string) (*config.Run, error)) error {
	for _, s := range settings {
		p.Settings = append(p.Settings, s.text)
	}
	p.Settings = append(p.Settings, fmt.Sprintf("seed=%d", p.Seed))
	run, err := parse(p.Settings)
	if err != nil {
		return err
	}
	if c.TokensPerParameter > 0 {
		cost := run.Spec().Cost()
		p.Settings = append(p.Settings, "train.steps=0", fmt.Sprintf("train.tokens=%d", int64(c.TokensPerParameter*float64(cost.Parameters-cost.Embedding))))
		if run, err = parse(p.Settings); err != nil {
			return err
		}
	}
	every := (run.TotalSteps() + c.Kind.evaluations() - 1) / c.Kind.evaluations()
	p.Settings = append(p.Settings, fmt.Sprintf("train.eval_every=%d", every), "train.keep=1")
	p.Run, err = parse(append(append([]string{"name=" + p.Name}, p.Settings...), "out="+filepath.ToSlash(folder)))
	return err
}

// located is the error of a run's config, at the line of the setting that it comes from.
func (c *Config) located(err error, given []assignment) error {
	var wrong *settings.Error
	if !errors.As(err, &wrong) {
		return err
	}
	for i := len(given) - 1; i >= 0; i-- {
		key, _, _ := strings.Cut(given[i].text, "=")
		key = strings.TrimSpace(key)
		if given[i].key != "" && (wrong.Key == key || strings.HasPrefix(wrong.Key, key+".") || wrong.Key == "" && !strings.Contains(given[i].text, "=")) {
			return c.where.Errorf(given[i].key, "%s: %s", given[i].text, wrong.Problem)
		}
	}
	return err
}

// digest tells what runs are made with: the base config's text without comments, and the settings. A run's folder is compared with
// the config itself before it goes on; this is for the log, which outlives folders.
func digest(base []byte, settings []string) string {
	var lines []string
	for line := range strings.Lines(string(base)) {
		if i := strings.Index(" "+line, " #"); i >= 0 {
			line = line[:i]
		}
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return fmt.Sprintf("%.8x", sha256.Sum256([]byte(strings.Join(append(lines, settings...), "\n"))))
}
