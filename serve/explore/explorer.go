package explore

import (
	"cmp"
	"context"
	"time"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/pretrained"
)

// Options say how an Explorer behaves. The zero value is ready to use.
type Options struct {
	Name    string // the model's name on the page; "": its file name
	Threads int    // workers an op; 0: all cores
	// Tokens is the largest length of a prompt and its text together; 0: 256, or as many as the
	// model has learned positions for. Time and memory of attention patterns grow with its square.
	Tokens int
	// Time is how long a request may use the model; 0: 2 minutes.
	Time    time.Duration
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
	open                    context.Context
	end                     context.CancelCauseFunc // of open
	html                    []byte                  // the page
}

// New makes an Explorer. Close it after use.
func New(m *pretrained.Model, o Options) (*Explorer, error) {
	e := &Explorer{options: o.withDefaults(m), spec: m.Spec, store: m.Store}
	e.open, e.end = context.WithCancelCause(context.Background())
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
	o.Time = cmp.Or(o.Time, 2*time.Minute)
	o.Waiting = cmp.Or(o.Waiting, 16)
	return o
}

// Close ends the requests, and frees the compiled programs. It does not wait for a run of the model
// in progress: the programs are freed when it is over.
func (e *Explorer) Close() {
	if e.open.Err() != nil {
		return
	}
	e.end(errClosed)
	free := func() {
		e.turn <- struct{}{} // for good
		e.programs.close()
	}
	if len(e.turn) > 0 {
		go free()
		return
	}
	free()
}

// use calls f while no other request runs the model. The context that f gets ends with ctx, after
// Options.Time and on Close. use returns an error if too many requests wait, or if that context
// ends.
func (e *Explorer) use(ctx context.Context, f func(ctx context.Context) error) error {
	select {
	case e.waiting <- struct{}{}:
		defer func() { <-e.waiting }()
	default:
		return errBusy
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(e.open, func() { end(errClosed) })()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return ended(ctx)
	}
	ctx, done := context.WithTimeoutCause(ctx, e.options.Time, tooLong(e.options.Time))
	defer done()
	if ctx.Err() != nil {
		return ended(ctx)
	}
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	return err
}
