package explore

import (
	"net/http"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/figure"
)

// Look asks for what happened at a position of a row of tokens: why the model says there, after the
// token at that position, that Target comes next.
type Look struct {
	Prompt   string   `yaml:"prompt" json:"prompt,omitempty"`
	BOS      *bool    `yaml:"bos" json:"bos,omitempty"` // as of Run
	IDs      []int32  `yaml:"ids" json:"ids,omitempty"` // in the place of Prompt
	Position int      `yaml:"position" json:"position"`
	Target   *int32   `yaml:"target" json:"target,omitempty"`            // whose logit is taken apart; nil: the untouched run's likeliest
	Against  *int32   `yaml:"against" json:"against,omitempty"`          // whose logit is subtracted; nil: none
	Layer    int      `yaml:"layer" json:"layer,omitempty"`              // of /explorer/attention
	Top      int      `yaml:"top" min:"0" max:"50" json:"top,omitempty"` // alternatives; 0: 8
	Changes  []Change `yaml:"changes" json:"changes,omitempty"`
}

// Views are what the untouched run did and, where there are changes, the changed one.
type Views[V any] struct {
	Untouched V  `json:"untouched"`
	Changed   *V `json:"changed,omitempty"`
}

// View is what one run did at a position.
type View struct {
	Next        []Alternative `json:"next"`   // the likeliest tokens there
	Target      Prediction    `json:"target"` // whose logit it is
	Against     *Prediction   `json:"against,omitempty"`
	Attribution Attribution   `json:"attribution"`
	Lens        []LensPoint   `json:"lens"`
	Attention   []Attention   `json:"attention"`
	Reads       figure.Wiring `json:"reads"`         // what each site reads, by who wrote it
	ReadsByHead figure.Wiring `json:"reads_by_head"` // the same, an attention's heads one by one
}

// Prediction is what a run says of a token.
type Prediction struct {
	Alternative
	Logit float64 `json:"logit"`
	Rank  int     `json:"rank"` // 0: the likeliest
}

// LensPoint is the logit lens after one writer.
type LensPoint struct {
	After       string        `json:"after"`
	Logit       float64       `json:"logit"` // of the target
	Probability float64       `json:"probability"`
	Rank        int           `json:"rank"`
	Top         []Alternative `json:"top"`
	Keys        []float64     `json:"keys,omitempty"` // the logit by key direction of the readout, for a stream that is read by keys
}

// Attention is what a layer's heads attend to at the position.
type Attention struct {
	Layer int         `json:"layer"`
	Names []string    `json:"names"` // of the heads
	Heads [][]float64 `json:"heads"` // [head][position], up to the one that is looked at
}

// answerToken answers with Views of a position.
func (e *Explorer) answerToken(w http.ResponseWriter, r *http.Request) error {
	return look(e, w, r, e.lookNames, e.view)
}

// answerAttention answers with Views of one layer's patterns, as figures.
func (e *Explorer) answerAttention(w http.ResponseWriter, r *http.Request) error {
	return look(e, w, r, e.patternNames, e.patterns)
}

// look reads a Look, runs the model on it and answers with what tell makes of the untouched run, then of the changed
// one.
func look[V any](e *Explorer, w http.ResponseWriter, r *http.Request, names []string, tell func(l *Look, run *cache.Cache) (V, error)) error {
	var l Look
	if err := e.read(w, r, &l); err != nil {
		return err
	}
	var views Views[V]
	err := e.use(r.Context(), func() error {
		first, second, err := e.both(&l, names)
		if err != nil {
			return err
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
		if views.Untouched, err = tell(&l, first); err != nil || second == nil {
			return err
		}
		changed, err := tell(&l, second)
		views.Changed = &changed
		return overflow(err)
	})
	if err != nil {
		return err
	}
	return write(w, views)
}

// both checks a Look and runs the model untouched and, where there are changes, changed.
func (e *Explorer) both(l *Look, names []string) (first, second *cache.Cache, err error) {
	if l.IDs, err = e.encode("prompt", l.Prompt, l.IDs, l.BOS); err != nil {
		return nil, nil, err
	}
	if err := check.Index("position", l.Position, len(l.IDs)); err != nil {
		return nil, nil, err
	}
	l.Top = e.topOf(l.Top)
	changes, err := e.changes(l.Changes)
	if err != nil {
		return nil, nil, err
	}
	names = slices.Clone(names)
	for _, c := range changes {
		names = append(names, c.Activation)
	}
	if first, err = e.run(l.IDs, slices.Clone(names), nil); err != nil || len(changes) == 0 {
		return first, nil, err
	}
	second, err = e.run(l.IDs, names, interventions(changes, e.rowOf(len(l.IDs))))
	return first, second, err
}

// view takes a run apart at a position.
func (e *Explorer) view(l *Look, run *cache.Cache) (View, error) {
	logits, err := finite(run, l.Position)
	if err != nil {
		return View{}, err
	}
	if l.Target == nil { // the untouched run comes first
		likeliest := int32(floats.MaxIdx(logits))
		l.Target = &likeliest
	}
	v := View{Next: e.alternatives(analysis.Predictions(logits, l.Top))}
	if v.Target, err = e.prediction("target", logits, *l.Target); err != nil {
		return v, err
	}
	against := -1
	if l.Against != nil {
		other, err := e.prediction("against", logits, *l.Against)
		if err != nil {
			return v, err
		}
		v.Against, against = &other, int(*l.Against)
	}
	d, err := analysis.Decompose(run)
	if err != nil {
		return v, err
	}
	a, err := d.Attribute(l.Position, int(*l.Target), against)
	if err != nil {
		return v, err
	}
	v.Attribution = e.attribution(a)
	if v.Lens, err = e.lens(d, l); err != nil {
		return v, err
	}
	if v.Attention, err = e.attention(l, run); err != nil {
		return v, err
	}
	reads, err := d.Reads(l.Position)
	if err != nil {
		return v, err
	}
	v.Reads = reads.Figure()
	if reads, err = d.ReadsByHead(l.Position); err != nil {
		return v, err
	}
	v.ReadsByHead = reads.Figure()
	return v, nil
}

func (e *Explorer) prediction(name string, logits []float64, id int32) (Prediction, error) {
	if err := check.Index(name, int(id), len(logits)); err != nil {
		return Prediction{}, err
	}
	p := Prediction{Alternative: e.alternative(id, probability(logits, id)), Logit: logits[id]}
	for _, l := range logits {
		if l > p.Logit {
			p.Rank++
		}
	}
	return p, nil
}

func (e *Explorer) lens(d *analysis.Decomposition, l *Look) ([]LensPoint, error) {
	lens, err := d.Lens(l.Position, int(*l.Target))
	if err != nil {
		return nil, err
	}
	var points []LensPoint
	for _, p := range lens.Points {
		points = append(points, LensPoint{p.After, p.Logit, p.Probability, p.Rank, e.alternatives(p.Top), p.Keys})
	}
	return points, nil
}

// attention is what all heads attend to at the position.
func (e *Explorer) attention(l *Look, run *cache.Cache) ([]Attention, error) {
	var all []Attention
	for layer := range e.spec.Depth() {
		p, err := analysis.Patterns(run, layer)
		if err != nil {
			return nil, err
		}
		a := Attention{Layer: layer}
		for head, pattern := range p.Patterns {
			a.Names = append(a.Names, p.HeadName(head))
			a.Heads = append(a.Heads, pattern[l.Position][:l.Position+1])
		}
		all = append(all, a)
	}
	return all, nil
}

// patterns are a layer's attention patterns between the tokens that there are.
func (e *Explorer) patterns(l *Look, run *cache.Cache) (figure.Attention, error) {
	p, err := analysis.Patterns(run, l.Layer)
	if err != nil {
		return figure.Attention{}, err
	}
	if _, err := finite(run, len(l.IDs)-1); err != nil { // patterns that are no numbers have no JSON
		return figure.Attention{}, err
	}
	f := p.Figures()[0].(figure.Attention)
	n := len(l.IDs)
	f.Tokens = nil
	for _, id := range l.IDs {
		_, label := e.spell(id)
		f.Tokens = append(f.Tokens, label)
	}
	for h := range f.Patterns {
		f.Patterns[h] = f.Patterns[h][:n]
		for i := range f.Patterns[h] {
			f.Patterns[h][i] = f.Patterns[h][i][:n]
		}
	}
	return f, nil
}
