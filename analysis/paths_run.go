package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// pathRow runs a model on one row with the patterns of attention held and outputs replaced.
type pathRow struct {
	ctx    context.Context // ends the runs
	runner *cache.Runner
	ids    []int32
	sites  []pathSite
	held   []cache.Intervention // of the patterns
	model  float64              // the loss
	err    error                // of the first run that failed
}

// outputs holds what each site hands to its write, in the order of the sites; nil stands for
// zeros.
type outputs [][]float64

func newPathRow(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, sites []pathSite) (*pathRow, error) {
	r := &pathRow{ctx: ctx, ids: ids, sites: sites}
	var patterns, names []string
	for l := range spec.Depth() {
		patterns = append(patterns, PatternName(l))
	}
	for _, s := range sites {
		names = append(names, s.output)
	}
	var err error
	if r.runner, err = cache.ForRow(store, spec, ids, append(names, patterns...)...); err != nil {
		return nil, err
	}
	own, err := r.runner.Run(ids)
	if err != nil {
		r.runner.Close()
		return nil, err
	}
	r.model = own.NextTokenLoss()
	for _, name := range patterns {
		r.held = append(r.held, cache.Patch(name, nil, own))
	}
	return r, nil
}

// run runs the model with all outputs replaced by with. It returns the loss, and made, what the
// sites computed before they were replaced.
func (r *pathRow) run(with outputs) (loss float64, made outputs) {
	made, replace := make(outputs, len(r.sites)), slices.Clone(r.held)
	for i, s := range r.sites {
		made[i] = make([]float64, len(r.ids)*s.heads*s.size)
		replace = append(replace, cache.Change(s.output, nil, func(old []float64) ([]float64, error) {
			made[i] = slices.Clone(old)
			if with == nil || with[i] == nil {
				return make([]float64, len(old)), nil
			}
			return slices.Clone(with[i]), nil
		}))
	}
	if r.err = cmp.Or(r.err, r.ctx.Err()); r.err != nil {
		return 0, made
	}
	loss, r.err = r.runner.Loss(r.ids, replace...)
	return loss, made
}

// but returns x with one site's output replaced.
func (x outputs) but(site int, by []float64) outputs {
	y := slices.Clone(x)
	y[site] = by
	return y
}

// only returns the outputs of one site alone.
func (x outputs) only(site int) outputs { return make(outputs, len(x)).but(site, x[site]) }

// head returns one head's part of a site's output [T, heads, size], with zeros for the others.
func (s pathSite) head(x []float64, head int) []float64 {
	y := make([]float64, len(x))
	for at := head * s.size; at < len(x); at += s.heads * s.size {
		copy(y[at:at+s.size], x[at:at+s.size])
	}
	return y
}

// pathValues holds the values of an expansion's numbers by name, one for each row of text.
type pathValues struct {
	sites  []pathSite
	heads  bool // heads and pairs of heads are measured, too
	values map[string][]float64
	paths  []HeadPath // of heads and pairs
}

func (p *pathValues) note(name string, value float64) { p.values[name] = append(p.values[name], value) }

// add measures one row.
func (p *pathValues) add(r *pathRow) {
	p.note("model", r.model)
	var with, first outputs
	var losses []float64
	for order := range len(p.sites) + 1 {
		loss, made := r.run(with)
		losses = append(losses, loss)
		p.note(fmt.Sprint("loss ", order), loss)
		if with = made; order == 0 {
			first = made
			continue
		}
		p.note(fmt.Sprint("gain ", order), losses[order-1]-loss)
	}
	p.note("whole", losses[0]-losses[len(p.sites)])
	all := losses[min(1, len(p.sites))]
	p.addSteps(r, first, losses[0], all)
	if p.heads {
		p.addHeads(r, first, losses[0], all)
	}
}

// addSteps measures each sublayer's paths of one step. first holds the outputs on the direct path,
// direct is the direct path's loss, all is the loss with all paths of one step.
func (p *pathValues) addSteps(r *pathRow, first outputs, direct, all float64) {
	for i, s := range p.sites {
		alone, _ := r.run(first.only(i))
		without, _ := r.run(first.but(i, nil))
		p.note("alone "+s.site, direct-alone)
		p.note("last "+s.site, without-all)
	}
}

// addHeads measures each head's path of one step, added to the direct path, and each pair's path of
// two steps, added to all paths of one step: it replaces what the second head computes from the
// direct path by what it computes from the direct path and the first head.
func (p *pathValues) addHeads(r *pathRow, first outputs, direct, all float64) {
	for i, s := range p.sites {
		for h := range s.heads {
			if !s.attends {
				continue
			}
			loss, made := r.run(make(outputs, len(p.sites)).but(i, s.head(first[i], h)))
			p.gain(HeadPath{First: s.headName(h)}, direct-loss)
			for j := i + 1; j < len(p.sites); j++ {
				p.addPairs(r, s.headName(h), j, made[j], first, all)
			}
		}
	}
}

// addPairs measures the pairs of a head and each head of a later site; made is what the latter
// computed from the direct path and the first head together.
func (p *pathValues) addPairs(r *pathRow, name string, site int, made []float64, first outputs, all float64) {
	s := p.sites[site]
	if !s.attends {
		return
	}
	for h := range s.heads {
		both := slices.Clone(first[site]) // all paths of one step, and of this head the path of two
		new, old := s.head(made, h), s.head(first[site], h)
		for i := range both {
			both[i] += new[i] - old[i]
		}
		loss, _ := r.run(first.but(site, both))
		p.gain(HeadPath{First: name, Second: s.headName(h)}, all-loss)
	}
}

// gain records a row's gain from a path.
func (p *pathValues) gain(path HeadPath, gain float64) {
	name := path.First + " " + path.Second
	if p.values[name] == nil {
		p.paths = append(p.paths, path)
	}
	p.note(name, gain)
}

// headName is "blocks.0.attention.3".
func (s pathSite) headName(h int) string { return stream.PartName(s.site, stream.HeadPart, h) }

// expansion returns the result.
func (p *pathValues) expansion(rows [][]int32) *PathExpansion {
	of := func(name string) numerics.Estimate { return numerics.NewEstimate(p.values[name]) }
	x := &PathExpansion{Rows: len(rows), Model: of("model")}
	for _, ids := range rows {
		x.Tokens += len(ids) - 1
	}
	for order, paths := range pathCounts(p.sites) {
		o := PathOrder{Steps: order, Paths: paths, Loss: of(fmt.Sprint("loss ", order))}
		if order > 0 {
			o.Gain = of(fmt.Sprint("gain ", order))
			o.Share = numerics.Ratio(o.Gain.Mean, of("whole").Mean)
		}
		x.Orders = append(x.Orders, o)
	}
	for _, s := range p.sites {
		x.Steps = append(x.Steps, PathStep{s.site, of("alone " + s.site), of("last " + s.site)})
	}
	for _, path := range p.paths {
		if path.Gain = of(path.First + " " + path.Second); path.Second == "" {
			x.Heads = append(x.Heads, path)
		} else {
			x.Pairs = append(x.Pairs, path)
		}
	}
	return x
}

// less returns x - y, entry by entry.
func less(x, y []float64) []float64 { return floats.SubTo(make([]float64, len(x)), x, y) }
