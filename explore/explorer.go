package explore

import (
	"cmp"
	"context"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Options say how an Explorer behaves. The zero value is ready to use.
type Options struct {
	Name    string // the model's name on the page; "": its file name
	Threads int    // workers an op; 0: all cores
	// Tokens is the largest length of a prompt and its text together; 0: 256, or as many as the
	// model has learned positions for. Time and memory of attention patterns grow with its square.
	Tokens  int
	Waiting int // how many requests may wait for the model before further ones are answered with 429; 0: 16
}

// Explorer is an http.Handler that runs one model for one request at a time.
type Explorer struct {
	options   Options
	spec      models.Spec
	store     *graph.Store
	tokenizer data.Tokenizer // nil: prompts are token ids
	model     *report.Model
	analyses  []report.Analysis // all that exist
	listed    []Listed          // those that suit the model
	about     Description
	sites     map[string]cache.Activation // what can be changed, for one token
	programs  programs
	// activations needed to look at a token, and the attention patterns among them
	lookNames, patternNames []string
	turn                    chan struct{} // holds one value while the model runs
	waiting                 chan struct{} // holds a value for each waiting or running request
	html                    []byte        // the page
}

// New makes an Explorer. Close it after use.
func New(m *pretrained.Model, o Options) (*Explorer, error) {
	e := &Explorer{options: o.withDefaults(m), spec: m.Spec, store: m.Store}
	if err := e.listAnalyses(m); err != nil {
		return nil, err
	}
	if e.options.Tokens < 2 {
		return nil, check.AtLeast("tokens", 2, e.options.Tokens)
	}
	e.turn, e.waiting = make(chan struct{}, 1), make(chan struct{}, e.options.Waiting+1)
	if err := e.describe(); err != nil {
		return nil, err
	}
	var err error
	if e.html, err = document(); err != nil {
		return nil, err
	}
	return e, nil
}

func (o Options) withDefaults(m *pretrained.Model) Options {
	o.Name = cmp.Or(o.Name, m.Source.ModelPath)
	o.Tokens = cmp.Or(o.Tokens, 256)
	if m.Spec.Attention.Positions == models.PositionsLearned {
		o.Tokens = min(o.Tokens, m.Spec.Seq)
	}
	o.Waiting = cmp.Or(o.Waiting, 16)
	return o
}

// Close frees the compiled programs, once no request runs.
func (e *Explorer) Close() {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	e.programs.close()
}

// use calls f while no other request runs the model. It returns an error if too many requests wait,
// or if ctx ends.
func (e *Explorer) use(ctx context.Context, f func() error) error {
	select {
	case e.waiting <- struct{}{}:
		defer func() { <-e.waiting }()
	default:
		return errBusy
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}
