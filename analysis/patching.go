package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Patching is how much of a metric comes back when an activation of the clean run is put
// into the corrupt one (activation patching; Meng et al. 2022, "Locating and Editing Factual
// Associations in GPT", causal tracing):
//
//	Effect = (metric of the patched run - corrupt) / (clean - corrupt)
//
// Baseline is the corrupt run's metric.
type Patching struct {
	Sweep
	Clean float64 `json:"clean"` // the clean run's metric
}

// PatchStream patches the stream after the embedding and after each attention at each token: a row
// for each site, a column for each token. A feed-forward works on each token alone, so patching the
// stream after it would show the same. In streams that carry more than h (cells, a group's input)
// only h is patched.
func PatchStream(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric) (*Patching, error) {
	p, err := streamPlaces(store, spec, len(clean))
	if err != nil {
		return nil, err
	}
	return p.patch(ctx, store, spec, clean, corrupt, m)
}

func streamPlaces(store *graph.Store, spec models.Spec, tokens int) (places, error) {
	names, err := cache.Names(store, spec)
	p := places{title: "Patching the stream", rows: "activation", axis: graph.TokenAxis, columns: tokens}
	for _, name := range names {
		if name == "embedding.out" || strings.HasSuffix(name, ".attention.stream") {
			p.names = append(p.names, name)
		}
	}
	return p, err
}

// PatchHeads patches each head's output at all tokens: one row for each layer, one column for each
// head.
func PatchHeads(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric) (*Patching, error) {
	return headPlaces(spec).patch(ctx, store, spec, clean, corrupt, m)
}

// PatchNames patches activations that names or globs say at each token, such as
// blocks.*.feedforward.write or blocks.2.attention.q: one row for each activation, one column for
// each token. With points above 0 it does so by gradients, as AttributionPatchStream does.
func PatchNames(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric, points int, names ...string) (*Patching, error) {
	r, err := cache.ForRow(store, spec, clean, names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := places{title: "Patching activations", rows: "activation", axis: graph.TokenAxis, columns: len(clean), names: r.Names()}
	if points > 0 {
		return p.attribute(ctx, store, spec, clean, corrupt, m, points)
	}
	return p.patch(ctx, store, spec, clean, corrupt, m)
}

func headPlaces(spec models.Spec) places {
	return places{title: "Patching heads", rows: "layer", axis: stream.HeadPart, columns: spec.HeadCount(), names: headActivations(spec)}
}

// places lists the places at which a sweep patches: the indices of one axis of some
// activations.
type places struct {
	title, rows string // rows: what a row of the result stands for
	axis        string
	columns     int
	names       []string
}

func (p places) patch(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric) (*Patching, error) {
	if err := checkPair(clean, corrupt); err != nil {
		return nil, err
	}
	from, err := cache.Once(store, spec, clean, p.names...)
	if err != nil {
		return nil, err
	}
	result := p.result(m)
	if err := result.open(store, spec, clean, p.names, 1+len(p.names)*p.columns); err != nil {
		return nil, err
	}
	defer result.close()
	own, err := result.values(ctx, clean, [][]cache.Intervention{nil}) // by the program of the corrupt runs, for the same rounding
	if err != nil {
		return nil, err
	}
	result.Clean = own[0]
	err = result.run(ctx, corrupt, p.names, func(name string, column int) cache.Intervention {
		return cache.Patch(name, cache.At{p.axis: column}, from)
	})
	if err != nil {
		return nil, err
	}
	return result, result.normalise()
}

func checkPair(clean, corrupt []int32) error {
	if len(clean) != len(corrupt) {
		return check.Valuef("corrupt", len(corrupt), "as many tokens as the clean prompt has, %d", len(clean))
	}
	return nil
}

// result returns a Patching with columns, and no rows yet.
func (p places) result(m Metric) *Patching {
	return &Patching{Sweep: *newSweep(p.title, p.rows, p.axis, p.columns, m)}
}

// normalise divides the effects by the difference between the clean and the corrupt run.
func (p *Patching) normalise() error {
	gap := p.Clean - p.Baseline
	if math.Abs(gap) < 1e-12*max(1, math.Abs(p.Clean)) {
		return check.Value("corrupt", "a prompt that changes the "+p.Metric, fmt.Sprintf("%g for both: choose another token or target", p.Clean))
	}
	for _, row := range p.Effect {
		for i := range row {
			row[i] /= gap
		}
	}
	p.Quantity = "share that comes back"
	return nil
}

// AttributionPatchStream does what PatchStream does, to first order (attribution patching; Nanda
// 2023, "Attribution Patching: Activation Patching At Industrial Scale"; Syed, Rager & Conmy 2023):
// with the gradient of the metric at the corrupt run, for activation a and the entries of one
// place,
//
//	Effect = sum over entries of (a_clean - a_corrupt) d metric/d a / (clean - corrupt)
//
// With points above 1 the gradient is its mean over as many points between the two runs' values of
// the activation, the middles of equal parts of the way (integrated gradients; Sundararajan et al.
// 2017, arXiv 1703.01365, equation 1): effects of all places of an activation through which
// everything passes then sum to 1, up to an error that falls with the square of points.
//
// Two runs and one backward pass give all places, where patching needs a run for each. It is exact
// where what follows the place is linear. LogitOf must have made the metric.
func AttributionPatchStream(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric, points int) (*Patching, error) {
	p, err := streamPlaces(store, spec, len(clean))
	if err != nil {
		return nil, err
	}
	return p.attribute(ctx, store, spec, clean, corrupt, m, points)
}

// AttributionPatchHeads does what PatchHeads does, to first order (see AttributionPatchStream).
func AttributionPatchHeads(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric, points int) (*Patching, error) {
	return headPlaces(spec).attribute(ctx, store, spec, clean, corrupt, m, points)
}

func (p places) attribute(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric, points int) (*Patching, error) {
	if err := checkPair(clean, corrupt); err != nil {
		return nil, err
	}
	if m.logits == nil {
		return nil, check.Value(fmt.Sprintf("metric %q", m.Name), "what LogitOf returns, which has a gradient", "another metric")
	}
	r, err := cache.ForRow(store, spec, clean, p.names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var runs [2]*cache.Cache // clean, corrupt
	var metrics [2]float64
	for i, ids := range [][]int32{clean, corrupt} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if runs[i], err = r.Run(ids); err != nil {
			return nil, err
		}
		if metrics[i], err = m.Of(runs[i]); err != nil {
			return nil, err
		}
	}
	gradients, err := p.gradients(ctx, store, spec, corrupt, *m.logits, runs, points)
	if err != nil {
		return nil, err
	}
	result := p.result(m)
	result.Title += " to first order"
	if points > 1 {
		result.Title = strings.Replace(result.Title, "to first order", "by integrated gradients", 1)
	}
	result.Clean, result.Baseline = metrics[0], metrics[1]
	for _, g := range gradients {
		result.add(g.Name, p.products(g, runs))
	}
	return result, result.normalise()
}

// gradients returns each activation's gradient at the corrupt run or, for several points, its mean
// over the middles of as many equal parts of the way from the corrupt run's values to the clean
// run's.
func (p places) gradients(ctx context.Context, store *graph.Store, spec models.Spec, corrupt []int32, of cache.LogitSum, runs [2]*cache.Cache,
	points int) ([]cache.Activation, error) {
	r, err := cache.OpenGradients(store, spec, corrupt, of, p.names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	gradients, err := r.Run()
	if err != nil || points <= 1 {
		return gradients, err
	}
	for i, g := range gradients {
		clean, _ := runs[0].Activation(g.Name) // which both keep
		from, _ := runs[1].Activation(g.Name)
		clear(g.Values)
		for point := range points {
			at := less(clean, from)
			floats.Scale((float64(point)+0.5)/float64(points), at)
			floats.Add(at, from)
			each, err := r.Run(cache.Set(g.Name, nil, at))
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			floats.AddScaled(g.Values, 1/float64(points), each[i].Values)
		}
	}
	return gradients, nil
}

// products returns, for each place of an activation, by how much patching it changes the metric
// to first order.
func (p places) products(gradient cache.Activation, runs [2]*cache.Cache) []float64 {
	clean, _ := runs[0].Activation(gradient.Name) // which both keep
	corrupt, _ := runs[1].Activation(gradient.Name)
	floats.Mul(gradient.Values, less(clean, corrupt))
	effects := make([]float64, p.columns)
	for column := range effects {
		each, _ := gradient.Select(cache.At{p.axis: column}) // one of its own
		effects[column] = floats.Sum(each)
	}
	return effects
}
