package experiment

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/runconfig"
)

// Plan lists the runs of an experiment.
type Plan struct {
	Config *Config
	Notes  []string // what to know before training

	zoo    models.Zoo
	series []Series
	cells  []*cell // ordered by series and point
	out    string
	base   base
	log    map[string]Record // by the names of runs
	texts  map[string]learnt // by the config's data section: the text of the first run with it
	disk   checkpoint.Disk   // tests make it fail
}

// cell is a point of a series; it has a run for each seed.
type cell struct {
	plan     *Plan
	series   string
	point    Point
	settings []Assignment
	first    *Planned            // run of the first seed at train.lr
	planned  map[string]*Planned // runs planned so far, by name
}

// Planned is a run to make.
type Planned struct {
	Name     string // name of its folder: series-point-seedN
	Seed     uint64
	Settings []string // in addition to the base
	Run      *runconfig.Run

	cell     *cell
	identity string
	former   string // its identity in logs from before runconfig.Run.Canonical existed
}

// Names in an experiment's folder.
const (
	logFile    = "log.jsonl"
	runsFolder = "runs"
)

// Plan reads the base config and determines the runs, each in a folder of its own below out. An
// error in a setting is a *SetupError that names its line in the experiment's config.
func (c *Config) Plan(ctx context.Context, zoo models.Zoo, out string) (*Plan, error) {
	p := &Plan{Config: c, zoo: zoo, series: c.Series, out: out, texts: map[string]learnt{}}
	err := p.readBase(ctx)
	if g, ok := c.Kind.(Gatherer); ok && err == nil {
		if p.zoo, p.series, err = g.Gather(zoo); err != nil {
			err = c.where.Errorf("experiment", "%v", err)
		}
	}
	for i, s := range p.series {
		if err == nil {
			err = p.addCells(s, index("series", i)+".set")
		}
	}
	if err == nil {
		err = p.checkNames()
	}
	if err == nil && len(p.cells) == 0 {
		err = c.where.Errorf("experiment", "want a design that %s can be made with, got a zoo with none", c.Kind.Name())
	}
	if err != nil {
		return nil, setupError(err)
	}
	for _, c := range p.cells { // find errors in any run before the first is trained
		if c.first, err = c.at(0, p.Config.tuningSeed()); err == nil {
			err = c.checkMixing()
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// addCells adds a cell for each point of a series. key is the key of the series' settings in
// the config.
func (p *Plan) addCells(s Series, key string) error {
	c := p.Config
	common := append([]Assignment{{Text: "device.threads=1"}}, assignments(c.Set, "set")...)
	common = append(common, assignments(s.Set, key)...)
	points, err := c.Kind.Points(Source{s.Name, func() (*runconfig.Run, error) { return p.parse(common) }})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, at := range points {
		folded := strings.ToLower(at.Label)
		if err := c.checkName(at.Label, at.Key, seen[folded]); err != nil && len(points) > 1 {
			return err
		}
		seen[folded] = true
		if c.Rates == bracket && slices.ContainsFunc(at.Set, func(a Assignment) bool { return strings.HasPrefix(a.Text, "train.lr=") }) {
			return c.where.Errorf(at.Key, "want no train.lr with rates: %s, which looks for it", bracket)
		}
		p.cells = append(p.cells, &cell{plan: p, series: s.Name, point: at, settings: slices.Concat(common, at.Set), planned: map[string]*Planned{}})
	}
	return nil
}

// texts returns the assignments' texts.
func texts(all []Assignment) []string {
	var texts []string
	for _, a := range all {
		texts = append(texts, a.Text)
	}
	return texts
}

// parse reads a run with settings; given says where in the config they come from.
func (p *Plan) parse(given []Assignment, more ...string) (*runconfig.Run, error) {
	run, _, err := runconfig.Parse(p.zoo, p.base.name, []byte(p.base.text), append(texts(given), more...))
	if err == nil && run.Device.Ranks > 1 {
		err = &settings.Error{Key: "device.ranks", Problem: fmt.Sprintf("want 1 in an experiment, each of whose runs one process trains, got %d", run.Device.Ranks)}
	}
	return run, setupError(p.Config.located(err, given))
}

// at returns the run of a seed at a peak learning rate, 0 for train.lr.
func (c *cell) at(rate float64, seed uint64) (*Planned, error) {
	peak, given := "", c.settings
	if rate > 0 {
		peak, given = fmt.Sprintf("lr%g", rate), append(slices.Clone(given), Assignment{fmt.Sprintf("train.lr=%g", rate), "rates"})
	}
	r := &Planned{Name: joined(c.series, c.point.Label, peak, fmt.Sprint("seed", seed)), Seed: seed, cell: c}
	if known := c.planned[r.Name]; known != nil {
		return known, nil
	}
	if err := r.settle(given); err != nil {
		return nil, err
	}
	c.planned[r.Name] = r
	return r, nil
}

// checkMixing refuses train.log_mixing for a stream that has no coefficients.
func (c *cell) checkMixing() error {
	run := c.first.Run
	if run.Train.LogMixing == 0 {
		return nil
	}
	err := mixing.Check(run.Spec())
	if errors.Is(err, mixing.ErrNone) {
		err = &settings.Error{Key: "train.log_mixing", Problem: fmt.Sprintf("%s: %v", c.Name(), err)}
	}
	return setupError(c.plan.Config.located(err, c.settings))
}

// settle reads the run with its settings and with those that follow from the experiment's config.
func (r *Planned) settle(given []Assignment) error {
	p, c := r.cell.plan, r.cell.plan.Config
	run, err := p.parse(given)
	if err != nil {
		return err
	}
	more := []string{fmt.Sprintf("seed=%d", r.Seed)}
	tokens, err := c.tokens(run)
	if err != nil {
		return setupError(err)
	}
	steps, evaluations := int64(run.TotalSteps()), int64(1)
	if tokens > 0 {
		more = append(more, "train.steps=0", fmt.Sprintf("train.tokens=%d", tokens))
		steps = 1 + (tokens-1)/int64(run.StepTokens())
	}
	if e, ok := c.Kind.(Evaluator); ok {
		evaluations = int64(e.TimesEvaluated())
	}
	every := (steps + evaluations - 1) / evaluations
	more = append(more, fmt.Sprintf("train.eval_every=%d", every), "train.keep=1")
	r.Settings = append(texts(given), more...)
	folder := filepath.ToSlash(filepath.Join(p.out, runsFolder, r.Name))
	if r.Run, err = p.parse(given, append(more, "name="+r.Name, fmt.Sprintf("out=%q", folder))...); err != nil {
		return err
	}
	text, err := r.Run.Canonical()
	r.identity, r.former = fmt.Sprintf("1:%.16x", sha256.Sum256([]byte(text))), p.base.digest(r.Settings)
	return err
}

// tokens returns how many tokens a run gets by the experiment's budget, 0 if there is none.
func (c *Config) tokens(run *runconfig.Run) (int64, error) {
	cost := run.Spec().Cost()
	switch {
	case c.FLOPs > 0:
		tokens := c.FLOPs / float64(cost.TrainFLOPs())
		if most := 1e18; tokens > most {
			return 0, c.where.Errorf("flops", "want at most those of %g tokens, got %g, which are %.3g tokens of a model with %d FLOPs a token: take a smaller budget",
				most, c.FLOPs, tokens, cost.TrainFLOPs())
		}
		return max(1, int64(tokens)), nil
	case c.TokensPerParameter > 0:
		return int64(c.TokensPerParameter * float64(cost.Parameters-cost.Embedding)), nil
	}
	return c.Tokens, nil
}

// flops returns the FLOPs of the whole run.
func (r *Planned) flops() float64 {
	return float64(r.Run.Spec().Cost().TrainFLOPs()) * float64(r.Run.TotalSteps()) * float64(r.Run.StepTokens())
}

// located returns the error of a run's config with the line of the setting that causes it.
func (c *Config) located(err error, given []Assignment) error {
	var wrong *settings.Error
	if !errors.As(err, &wrong) {
		return err
	}
	for i := len(given) - 1; i >= 0; i-- {
		key, _, _ := strings.Cut(given[i].Text, "=")
		key = strings.TrimSpace(key)
		if given[i].Key != "" && (wrong.Key == key || strings.HasPrefix(wrong.Key, key+".") || wrong.Key == "" && !strings.Contains(given[i].Text, "=")) {
			return c.where.Errorf(given[i].Key, "%s: %s", given[i].Text, wrong.Problem)
		}
	}
	return err
}
