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

// Options say how an Explorer behaves. The zero value is ready.
type Options struct {
	Name    string // that the page calls the model by; "": the model's file
	Threads int    // workers an op; 0: all cores
	// Tokens is how long a prompt and its text may be together; 0: 256, or as many as the model has
	// learned positions for. Time and memory of attention patterns grow with its square.
	Tokens  int
	Waiting int   // the requests that may wait for the model, what comes beyond is answered 429; 0: 16
	Body    int64 // the most bytes of a request's body; 0: 1 MiB
}

// Explorer is an http.Handler that runs one model for one request at a time.
type Explorer struct {
	options   Options
	spec      models.Spec
	store     *graph.Store
	tokenizer data.Tokenizer // nil: prompts are token ids
	model     *report.Model
	analyses  []report.Analysis // of any model
	listed    []Listed          // those of this one
	about     Description
	sites     map[string]cache.Activation // what can be changed, of one token
	programs  programs
	// activations that looking at a token needs, and those of them that are attention patterns
	lookNames, patternNames []string
	turn                    chan struct{} // holds one value while the model runs
	waiting                 chan struct{} // holds a value for each request that waits or runs
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
	o.Waiting, o.Body = cmp.Or(o.Waiting, 16), cmp.Or(o.Body, 1<<20)
	return o
}

// Close ends the compiled programs, once no request runs.
func (e *Explorer) Close() {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	e.programs.close()
}

// use calls f while no other request runs the model. It is an error if too many wait, or ctx ends.
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
