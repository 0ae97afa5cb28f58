package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
)

// AblateOptions say what is set to 0, and what is measured.
type AblateOptions struct {
	Prompt
	Target          // none given: the mean loss of the next token
	Names  []string // activations, names or globs, that are set to 0 together; none: all heads and all writers, in turn
	At     cache.At // the entries of Names; nil: all
	Top    int      // how many of the largest effects a terminal lists; 0: 20
}

// Ablate reports what the model loses when activations are set to 0.
func Ablate(m *Model, o AblateOptions) (*Report, error) {
	if len(o.Names) == 0 && len(o.At) > 0 {
		return nil, check.Value("at", "names of activations with it", "none")
	}
	ids, err := o.Prompt.read(m, 2, false)
	if err != nil {
		return nil, err
	}
	s := ablation{m, ids, analysis.NextTokenLoss()}
	if o.Target.Given() {
		run, err := m.run(ids, nil)
		if err != nil {
			return nil, err
		}
		a, err := o.Target.find(m, run)
		if err != nil {
			return nil, err
		}
		s.metric = a.metric()
	}
	r := on(m, analysis.AnalysisAblate, "Ablation", ids)
	if len(o.Names) > 0 {
		return r, s.addNamed(r, o.Names, o.At)
	}
	return r, s.addSweeps(r, cmp.Or(o.Top, defaultTop))
}

// ablation is on what activations are set to 0, and what is measured.
type ablation struct {
	*Model
	ids    []int32
	metric analysis.Metric
}

// addNamed ablates named activations.
func (s ablation) addNamed(r *Report, names []string, at cache.At) error {
	one, err := analysis.Ablate(s.Store, s.Spec, s.ids, names, at, s.metric)
	if err != nil {
		return err
	}
	var entries []string
	for _, axis := range slices.Sorted(maps.Keys(at)) {
		entries = append(entries, fmt.Sprintf("%s=%d", axis, at[axis]))
	}
	text := "All of it is set to 0 together: " + strings.Join(names, ", ")
	if len(entries) > 0 {
		text += " at " + strings.Join(entries, ",")
	}
	r.Add("ablation", "Named activations", text+".", one)
	return nil
}

// addSweeps ablates each head, and what each writer writes at each token.
func (s ablation) addSweeps(r *Report, top int) error {
	each, err := analysis.AblateHeads(s.Store, s.Spec, s.ids, s.metric)
	if err != nil {
		return err
	}
	r.addSweep(s.Model, "heads", "Heads", "Each head's output is set to 0 at all tokens: how the metric changes.",
		sweep{&each.Sweep, each, nil, top})
	writers, err := analysis.AblateWriters(s.Store, s.Spec, s.ids, s.metric)
	if err != nil {
		return err
	}
	r.addSweep(s.Model, "writers", "Writers", "What a writer writes is set to 0, at one token or at all.",
		sweep{&writers.Sweep, writers, s.ids, top})
	return nil
}
