package explore

import (
	"context"
	"net/http"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Look asks what happened at a position in a row of tokens: why the model expects Target after the
// token at that position.
type Look struct {
	Prompt   string   `yaml:"prompt" json:"prompt,omitempty"`
	BOS      *bool    `yaml:"bos" json:"bos,omitempty"` // as in Run
	IDs      []int32  `yaml:"ids" json:"ids,omitempty"` // instead of Prompt
	Position int      `yaml:"position" json:"position"`
	Target   *int32   `yaml:"target" json:"target,omitempty"`            // the token whose logit is explained; nil: the likeliest of the untouched run
	Against  *int32   `yaml:"against" json:"against,omitempty"`          // a token whose logit is subtracted; nil: none
	Layer    int      `yaml:"layer" json:"layer,omitempty"`              // for /explorer/attention
	Top      int      `yaml:"top" min:"0" max:"50" json:"top,omitempty"` // number of alternatives; 0: 8
	Changes  []Change `yaml:"changes" json:"changes,omitempty"`
}

// Views shows the untouched run and, if there are changes, the changed one.
type Views[V any] struct {
	Untouched V  `json:"untouched"`
	Changed   *V `json:"changed,omitempty"`
}

// View shows one run at a position.
type View struct {
	Next        []Alternative `json:"next"`   // the likeliest next tokens
	Target      Prediction    `json:"target"` // prediction of the target token
	Against     *Prediction   `json:"against,omitempty"`
	Attribution Attribution   `json:"attribution"`
	Lens        []LensPoint   `json:"lens"`
	Attention   []Attention   `json:"attention"`
	Reads       figure.Wiring `json:"reads"`         // what each site reads, by the writer it comes from
	ReadsByHead figure.Wiring `json:"reads_by_head"` // the same, with each of an attention's heads by itself
}

// Prediction is the probability of a token in a run.
type Prediction struct {
	Alternative
	Logit float64 `json:"logit"`
	Rank  int     `json:"rank"` // 0: it is the likeliest
}

// LensPoint is the logit lens after one writer.
type LensPoint struct {
	After       string        `json:"after"`
	Logit       float64       `json:"logit"` // logit of the target
	Probability float64       `json:"probability"`
	Rank        int           `json:"rank"`
	Top         []Alternative `json:"top"`
	Keys        []float64     `json:"keys,omitempty"` // the logit by key direction of the readout, for streams read by keys
}

// Attention shows what a layer's heads attend to at the position.
type Attention struct {
	Layer int         `json:"layer"`
	Names []string    `json:"names"` // names of the heads
	Heads [][]float64 `json:"heads"` // [head][position], up to the position asked for
}

// answerToken answers with the Views of a position.
func (e *Explorer) answerToken(w http.ResponseWriter, r *http.Request) error {
	return look(e, w, r, e.lookNames, e.view)
}

// answerAttention answers with the Views of one layer's patterns, as figures.
func (e *Explorer) answerAttention(w http.ResponseWriter, r *http.Request) error {
	return look(e, w, r, e.patternNames, e.patterns)
}

// look decodes a Look and runs the model. It answers with the results of tell for the
// untouched run and, if there are changes, for the changed one.
func look[V any](e *Explorer, w http.ResponseWriter, r *http.Request, names []string, tell func(l *Look, run *cache.Cache) (V, error)) error {
	var l Look
	if err := e.read(w, r, &l); err != nil {
		return err
	}
	var views Views[V]
	err := e.use(r.Context(), func(ctx context.Context) error {
		first, second, err := e.both(&l, names)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
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

// both checks a Look and runs the model untouched and, if there are changes, changed.
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

// view analyses a run at a position.
func (e *Explorer) view(l *Look, run *cache.Cache) (View, error) {
	logits, err := finite(run, l.Position)
	if err != nil {
		return View{}, err
	}
	if l.Target == nil { // it was set by the untouched run, which comes first
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

// attention returns what all heads attend to at the position.
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

// patterns returns a layer's attention patterns between the tokens of the row.
func (e *Explorer) patterns(l *Look, run *cache.Cache) (figure.Attention, error) {
	p, err := analysis.Patterns(run, l.Layer)
	if err != nil {
		return figure.Attention{}, err
	}
	if _, err := finite(run, len(l.IDs)-1); err != nil { // JSON cannot hold patterns that are not finite
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
