package cache

import (
	"cmp"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// Options say how a Runner runs.
type Options struct {
	// Names are the activations to keep, names or globs ("blocks.*.attention.pattern"; * is
	// a part between dots). Interventions need a name that is kept.
	Names   []string
	Batch   int // rows; 0: 1
	Seq     int // tokens a row; 0: the model's seq
	Threads int // that compute an op; 0: one for each core
}

// Runner runs one model on rows of a fixed number of tokens. It shares the Store. It is not
// safe for concurrent use.
type Runner struct {
	options  Options
	program  *models.Compiled
	names    []string
	hooked   map[string]graph.Activation // of the program
	replaced []Intervention              // of the run in progress, in all rows
	each     [][]Intervention            // of the run in progress, row by row
	failed   error                       // the error of an intervention in the run in progress
}

// New compiles a model so that the named activations can be kept and replaced. The model is the one
// that is trained, masks between documents included, except that dropout is off. Close it after
// use. New returns an error if the store lacks the config's parameters or the model has no such
// activation.
func New(store *graph.Store, spec models.Spec, o Options) (*Runner, error) {
	return open(store, spec, o, models.Outputs{Logits: true}, graph.ProgramOptions{})
}

// open does what New does, for a program with other outputs.
func open(store *graph.Store, spec models.Spec, o Options, want models.Outputs, p graph.ProgramOptions) (*Runner, error) {
	known, err := Names(store, spec)
	if err != nil {
		return nil, err
	}
	if err := o.resolve(spec); err != nil {
		return nil, err
	}
	r := &Runner{options: o, hooked: map[string]graph.Activation{}}
	if r.names, err = match(known, o.Names); err != nil {
		return nil, err
	}
	hooks := graph.Hooks{}
	for _, name := range r.names {
		hooks[name] = r.replace
	}
	p.Options = graph.Options{Store: store.Serve(), Threads: o.Threads, Hooks: hooks}
	if r.program, err = models.Compile(spec, o.Batch, o.Seq, want, p); err != nil {
		return nil, err
	}
	for _, a := range r.program.Builder().Activations() {
		r.hooked[a.Name] = a
	}
	return r, nil
}

func (o *Options) resolve(spec models.Spec) error {
	o.Batch, o.Seq = cmp.Or(o.Batch, 1), cmp.Or(o.Seq, spec.Seq)
	if o.Batch < 1 || o.Seq < 1 {
		return check.Value("run", "at least 1 row of 1 token", fmt.Sprintf("%d of %d", o.Batch, o.Seq))
	}
	if spec.Attention.Positions == models.PositionsLearned && o.Seq > spec.Seq {
		return check.Valuef("run", o.Seq, "at most %d tokens a row, the model's learned positions", spec.Seq)
	}
	return nil
}

// ForRow is New for one row of as many tokens as ids.
func ForRow(store *graph.Store, spec models.Spec, ids []int32, names ...string) (*Runner, error) {
	if len(ids) == 0 {
		return nil, check.NoPrompt()
	}
	return New(store, spec, Options{Names: names, Seq: len(ids)})
}

// Once runs a model once on one row of token ids and keeps the named activations.
func Once(store *graph.Store, spec models.Spec, ids []int32, names ...string) (*Cache, error) {
	r, err := ForRow(store, spec, ids, names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Run(ids)
}

// Model returns the model of the compiled graph.
func (r *Runner) Model() *models.Model { return r.program.Model }

// Names lists the activations that runs keep.
func (r *Runner) Names() []string { return slices.Clone(r.names) }

// Close ends the runner.
func (r *Runner) Close() { r.program.Close() }

// Loss runs the model as Run does, and returns the mean loss of the next token, in nats.
func (r *Runner) Loss(ids []int32, replace ...Intervention) (float64, error) {
	run, err := r.Run(ids, replace...)
	if err != nil {
		return 0, err
	}
	return run.NextTokenLoss(), nil
}

// Run runs the model on Batch rows of Seq token ids, with some activations replaced. Interventions
// in one activation apply in the given order. It returns an error for an id outside the vocabulary,
// and for an intervention in an activation that is not kept.
func (r *Runner) Run(ids []int32, replace ...Intervention) (*Cache, error) {
	input := r.program.Tokens
	if err := r.check(ids, replace, len(input)); err != nil {
		return nil, err
	}
	copy(input, ids)
	r.replaced, r.each = replace, nil
	logits, err := r.run()
	if err != nil {
		return nil, err
	}
	c := r.cache(ids, logits)
	c.activations, err = r.keep(r.program.Hooked)
	return c, err
}

// cache returns the Cache of a run on rows of ids, without activations.
func (r *Runner) cache(ids []int32, logits []float64) *Cache {
	m := r.program.Model
	return &Cache{IDs: slices.Clone(ids), Batch: len(ids) / r.options.Seq, Seq: r.options.Seq, Vocab: m.Spec().Vocab, Logits: logits, model: m}
}

// run runs the program and returns its logits [Batch*Seq, Vocab].
func (r *Runner) run() ([]float64, error) {
	r.failed = nil
	if err := r.program.Run(graph.RunOptions{}); err != nil {
		if r.failed != nil {
			err = r.failed // without the text that the graph puts around it
		}
		return nil, err
	}
	logits, err := graph.Value(r.program.Logits)
	if err != nil {
		return nil, err
	}
	return graph.Float64s(logits), nil
}

func (r *Runner) check(ids []int32, replace []Intervention, want int) error {
	if len(ids) != want {
		return check.Valuef("ids", len(ids), "%d x %d (rows, tokens a row)", r.options.Batch, r.options.Seq)
	}
	vocab := r.program.Model.Spec().Vocab
	for i, id := range ids {
		if err := check.Index(fmt.Sprintf("id of token %d", i), int(id), vocab); err != nil {
			return err
		}
	}
	for _, v := range replace {
		if !slices.Contains(r.names, v.Name) {
			return NotKeptError{v.Name, r.names}
		}
		if v.change == nil {
			return check.Value("replace "+v.Name, "what Ablate, Scale, Patch, Set, Steer or Change returns", "an Intervention that changes nothing")
		}
	}
	return nil
}

// replace is the function of all hooks: it applies the interventions of the run in progress to
// x, the value of the named activation.
func (r *Runner) replace(name string, x *tensor.Dense) error {
	if !aims(r.replaced, name) && !slices.ContainsFunc(r.each, func(row []Intervention) bool { return aims(row, name) }) {
		return nil
	}
	a := r.activation(name, x)
	if r.failed = apply(r.replaced, a); r.failed != nil {
		return r.failed
	}
	for row, replaced := range r.each {
		if r.failed = apply(replaced, r.row(a, row)); r.failed != nil {
			return r.failed
		}
	}
	return graph.SetFloat64s(x, a.Values)
}

// aims tells whether one of the interventions changes the named activation.
func aims(replaced []Intervention, name string) bool {
	return slices.ContainsFunc(replaced, func(v Intervention) bool { return v.Name == name })
}

// apply applies the interventions in an activation, in order.
func apply(replaced []Intervention, a Activation) error {
	for _, v := range replaced {
		if v.Name == a.Name {
			if err := v.Apply(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep copies data of all activations out of the program, because the next run overwrites it.
func (r *Runner) keep(of func(name string) (*tensor.Dense, error)) ([]Activation, error) {
	var all []Activation
	for _, name := range r.names {
		x, err := of(name)
		if err != nil {
			return nil, err
		}
		all = append(all, r.activation(name, x))
	}
	return all, nil
}

// activation is a hook's value with its axes.
func (r *Runner) activation(name string, x *tensor.Dense) Activation {
	a := r.hooked[name]
	return Activation{Name: name, Axes: a.Axes, Shape: a.Shape, Values: graph.Float64s(x)}
}
