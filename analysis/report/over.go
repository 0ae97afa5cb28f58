package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/pretrained"
)

// OverFile is the file in a report's folder with what Over has measured so far.
const OverFile = "over.json"

// kept is the content of OverFile.
type kept struct {
	Analysis string          `json:"analysis"`
	Settings json.RawMessage `json:"settings"`
	Steps    []keptStep      `json:"steps"`
}

// keptStep holds what was measured at one step.
type keptStep struct {
	Step   int     `json:"step"`
	Model  string  `json:"model"` // sha256 of the model file
	Curves []Curve `json:"curves"`
}

// Over runs an analysis, which must be Followed, at each step whose weights train.keep_log has kept
// in a run's folder, and reports its numbers over the steps, after the loss on rows of the run's
// validation text. Text, rows and seeds are the same at each step. If dir is not "", each step's
// numbers are kept there in OverFile, and a later call of the same settings takes them from it.
func Over(ctx context.Context, zoo models.Zoo, run string, a Analysis, dir string) (*Report, error) {
	followed, err := Follow(zoo, a)
	if err != nil {
		return nil, err
	}
	steps, err := checkpoint.LogSteps(run)
	if err == nil && len(steps) == 0 {
		err = check.Value("over", "a run that kept weights over training (train -set train.keep_log=true)", run+", which has none")
	}
	if err != nil {
		return nil, err
	}
	before, path := kept{Analysis: a.Name()}, filepath.Join(dir, OverFile)
	if before.Settings, err = json.Marshal(a); err != nil {
		return nil, errors.WithStack(err)
	}
	if dir != "" {
		if err := before.read(path); err != nil {
			return nil, err
		}
	}
	f, now := following{zoo: zoo, run: run, a: followed}, before
	now.Steps = nil
	for _, step := range steps {
		one, err := f.step(ctx, step, before.Steps)
		if err != nil {
			return nil, err
		}
		now.Steps = append(now.Steps, one)
		if text, _ := json.Marshal(now); dir != "" { // no error: all numbers are finite
			if err := (checkpoint.Disk{}).WriteFile(filepath.Join(dir, OverFile), text); err != nil {
				return nil, err
			}
		}
	}
	return f.report(now.Steps)
}

// Follow returns the analysis as a Followed, or an error that lists the analyses that can be
// followed.
func Follow(zoo models.Zoo, a Analysis) (Followed, error) {
	if followed, ok := a.(Followed); ok {
		return followed, nil
	}
	all, err := Analyses(zoo)
	var names []string
	for _, other := range all {
		if _, ok := other.(Followed); ok {
			names = append(names, other.Name())
		}
	}
	if err == nil {
		err = check.Value("analysis", "one of "+strings.Join(names, ", "), a.Name())
	}
	return nil, err
}

// read reads what an earlier call with the same settings kept; it is an error if the settings were
// others.
func (k *kept) read(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var earlier kept
	if err == nil {
		err = json.Unmarshal(text, &earlier)
	}
	if err != nil {
		return errors.Wrap(err, path)
	}
	if earlier.Analysis != k.Analysis || string(earlier.Settings) != string(k.Settings) {
		return check.Value("out", "a folder without the curves of another analysis or other settings: name another one, or remove "+OverFile, path)
	}
	k.Steps = earlier.Steps
	return nil
}

// following runs an analysis at the steps of one run.
type following struct {
	zoo  models.Zoo
	run  string
	a    Followed
	text func(ctx context.Context, files []string, tokens int) ([]int32, error) // of all steps; nil: no model is open yet
}

// open opens the model of a step.
func (f *following) open(step int) (*Model, error) {
	p, err := pretrained.Open(checkpoint.LogPath(f.run, step), f.zoo)
	if err != nil {
		return nil, err
	}
	m, err := Of(p)
	if err != nil {
		return nil, err
	}
	if f.text == nil {
		f.text = remembered(m.Text)
	}
	m.Name, m.Path, m.Text = f.run, "", f.text
	return m, nil
}

// remembered returns a function that reads each text once.
func remembered(read func(context.Context, []string, int) ([]int32, error)) func(context.Context, []string, int) ([]int32, error) {
	known := map[string][]int32{}
	return func(ctx context.Context, files []string, tokens int) (ids []int32, err error) {
		key := fmt.Sprintf("%q %d", files, tokens)
		if known[key] == nil {
			known[key], err = read(ctx, files, tokens)
		}
		return known[key], err
	}
}

// step measures a step, unless an earlier call has measured the same weights.
func (f *following) step(ctx context.Context, step int, before []keptStep) (keptStep, error) {
	state, err := checkpoint.ReadState(checkpoint.LogPath(f.run, step))
	if err != nil {
		return keptStep{}, err
	}
	one := keptStep{Step: step, Model: state.Files[checkpoint.ModelFile]}
	for _, b := range before {
		if b.Step == one.Step && b.Model == one.Model {
			return b, ctx.Err()
		}
	}
	m, err := f.open(step)
	if err != nil {
		return one, err
	}
	if one.Curves, err = m.lossCurve(ctx); err != nil {
		return one, err
	}
	r, err := Run(ctx, m, f.a)
	if err != nil {
		return one, err
	}
	measured, err := f.a.Curves(m, r)
	one.Curves = slices.DeleteFunc(append(one.Curves, measured...), func(c Curve) bool { return math.IsNaN(c.Value) || math.IsInf(c.Value, 0) })
	return one, err
}

// lossCurve measures the loss on up to 8 rows of the validation text; without a text it returns no
// curve.
func (m *Model) lossCurve(ctx context.Context) ([]Curve, error) {
	text, err := m.Text(ctx, nil, 0)
	n := min(blockRows, len(text)/m.Spec.Seq)
	if err != nil || n == 0 {
		return nil, ctx.Err()
	}
	rows, err := m.ValidationRows(ctx, n)
	if err != nil {
		return nil, err
	}
	r, err := cache.New(m.Store, m.Spec, cache.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sum := 0.0
	for _, ids := range rows {
		loss, err := r.Loss(ids)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		sum += loss
	}
	return []Curve{{"validation text", lossUnit, sum / float64(len(rows)), m.evenLoss()}}, nil
}

// report writes up what was measured.
func (f *following) report(steps []keptStep) (*Report, error) {
	m, err := f.open(steps[len(steps)-1].Step)
	if err != nil {
		return nil, err
	}
	r := m.NewReport(f.a.Name()+" over training", nil)
	r.Analysis = f.a.Name()
	r.About += fmt.Sprintf("; at %d steps, %d to %d", len(steps), steps[0].Step, steps[len(steps)-1].Step)
	for _, o := range unitsOf(steps) {
		p := r.Add(o.file(), strings.ToUpper(o.Unit[:1])+o.Unit[1:], "The same text, rows and seeds at each step.", o)
		brief := o.table(o.largest())
		p.Brief = &brief
	}
	return r, nil
}
