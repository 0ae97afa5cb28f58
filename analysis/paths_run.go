package analysis

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// pathRow runs a model on one row with the patterns of attention held and outputs replaced.
type pathRow struct {
	runner *cache.Runner
	ids    []int32
	sites  []pathSite
	held   []cache.Intervention // of the patterns
	model  float64              // the loss
}

// outputs are what sites hand to their writes, by the order of the sites; nil: zeros.
type outputs [][]float64

func newPathRow(store *graph.Store, c models.Spec, ids []int32, sites []pathSite) (*pathRow, error) {
	r := &pathRow{ids: ids, sites: sites}
	var patterns, names []string
	for l := range c.Depth() {
		patterns = append(patterns, PatternName(l))
	}
	for _, s := range sites {
		names = append(names, s.output)
	}
	var err error
	if r.runner, err = newRunner(store, c, ids, append(names, patterns...)); err != nil {
		return nil, err
	}
	own, err := r.runner.Run(ids)
	if err == nil {
		r.model, err = NextTokenLoss().Of(own)
	}
	if err != nil {
		r.runner.Close()
		return nil, err
	}
	for _, name := range patterns {
		r.held = append(r.held, cache.Patch(name, nil, own))
	}
	return r, nil
}

// run replaces all outputs, and returns the loss and what they would have been.
func (r *pathRow) run(with outputs) (loss float64, made outputs, err error) {
	made, replace := make(outputs, len(r.sites)), slices.Clone(r.held)
	for i, s := range r.sites {
		replace = append(replace, cache.Change(s.output, nil, func(old []float64) ([]float64, error) {
			made[i] = slices.Clone(old)
			if with == nil || with[i] == nil {
				return make([]float64, len(old)), nil
			}
			return slices.Clone(with[i]), nil
		}))
	}
	run, err := r.runner.Run(r.ids, replace...)
	if err != nil {
		return 0, nil, err
	}
	loss, err = NextTokenLoss().Of(run)
	return loss, made, err
}

// but is x with one site's output replaced.
func (x outputs) but(site int, by []float64) outputs {
	y := slices.Clone(x)
	y[site] = by
	return y
}

// only are the outputs of one site alone.
func (x outputs) only(site int) outputs { return make(outputs, len(x)).but(site, x[site]) }

// head is one head's part of a site's output [T, heads, size], the others 0.
func (s pathSite) head(x []float64, head int) []float64 {
	y := make([]float64, len(x))
	for at := head * s.size; at < len(x); at += s.heads * s.size {
		copy(y[at:at+s.size], x[at:at+s.size])
	}
	return y
}

// pathSums gathers rows' values: one a row for each number that an expansion has.
type pathSums struct {
	sites        []pathSite
	options      PathOptions
	counts       []float64
	model        []float64
	losses       [][]float64 // [order][row]
	alone, last  [][]float64 // [site][row]
	heads, pairs []HeadPath
	gains        map[string][]float64 // of heads and pairs, by name
}

func newPathSums(sites []pathSite, c models.Spec, o PathOptions) *pathSums {
	return &pathSums{sites: sites, options: o, counts: pathCounts(sites), losses: make([][]float64, len(sites)+1),
		alone: make([][]float64, len(sites)), last: make([][]float64, len(sites)), gains: map[string][]float64{}}
}

// add measures one row.
func (p *pathSums) add(r *pathRow) error {
	p.model = append(p.model, r.model)
	var with, first outputs
	for order := range p.losses {
		loss, made, err := r.run(with)
		if err != nil {
			return err
		}
		p.losses[order] = append(p.losses[order], loss)
		if with = made; order == 0 {
			first = made
		}
	}
	if err := p.addSteps(r, first); err != nil {
		return err
	}
	if p.options.Heads {
		return p.addHeads(r, first)
	}
	return nil
}

// addSteps measures each sublayer's paths of one step; first are the outputs that the direct path
// gives.
func (p *pathSums) addSteps(r *pathRow, first outputs) error {
	direct, all := lastOf(p.losses[0]), lastOf(p.losses[min(1, len(p.losses)-1)])
	for i := range p.sites {
		alone, _, err := r.run(first.only(i))
		if err != nil {
			return err
		}
		without, _, err := r.run(first.but(i, nil))
		if err != nil {
			return err
		}
		p.alone[i], p.last[i] = append(p.alone[i], direct-alone), append(p.last[i], without-all)
	}
	return nil
}

// addHeads measures each head's path of one step, and, next to all paths of one step, each pair's of
// two: what the second head makes of the first one's output in addition to the direct path.
func (p *pathSums) addHeads(r *pathRow, first outputs) error {
	direct, all := lastOf(p.losses[0]), lastOf(p.losses[1])
	for i, s := range p.sites {
		for h := range s.heads {
			if !s.attends {
				continue
			}
			one := make(outputs, len(p.sites)).but(i, s.head(first[i], h))
			loss, made, err := r.run(one)
			if err != nil {
				return err
			}
			p.gain(HeadPath{First: s.headName(h)}, direct-loss)
			for j := i + 1; j < len(p.sites); j++ {
				if err := p.addPairs(r, s.headName(h), j, made[j], first, all); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addPairs measures the pairs of a head and each of a later site's; made is what these made of the
// direct path and that head together.
func (p *pathSums) addPairs(r *pathRow, name string, site int, made []float64, first outputs, all float64) error {
	s := p.sites[site]
	if !s.attends {
		return nil
	}
	for h := range s.heads {
		both := slices.Clone(first[site]) // all paths of one step, and of this head the path of two
		new, old := s.head(made, h), s.head(first[site], h)
		for i := range both {
			both[i] += new[i] - old[i]
		}
		loss, _, err := r.run(first.but(site, both))
		if err != nil {
			return err
		}
		p.gain(HeadPath{First: name, Second: s.headName(h)}, all-loss)
	}
	return nil
}

// gain notes a row's gain of a path.
func (p *pathSums) gain(path HeadPath, gain float64) {
	name := path.First + " " + path.Second
	if _, known := p.gains[name]; !known {
		if path.Second == "" {
			p.heads = append(p.heads, path)
		} else {
			p.pairs = append(p.pairs, path)
		}
	}
	p.gains[name] = append(p.gains[name], gain)
}

// headName is "blocks.0.attention.3".
func (s pathSite) headName(h int) string { return stream.PartName(s.site, stream.HeadPart, h) }

func lastOf(x []float64) float64 { return x[len(x)-1] }

// expansion is the result.
func (p *pathSums) expansion(rows [][]int32) *PathExpansion {
	x := &PathExpansion{Rows: len(rows), Model: estimate(p.model)}
	for _, ids := range rows {
		x.Tokens += len(ids) - 1
	}
	all := less(p.losses[0], p.losses[len(p.losses)-1])
	for order, losses := range p.losses {
		o := PathOrder{Steps: order, Paths: p.counts[order], Loss: estimate(losses)}
		if order > 0 {
			o.Gain = estimate(less(p.losses[order-1], losses))
			if whole := estimate(all).Mean; whole != 0 {
				o.Share = o.Gain.Mean / whole
			}
		}
		x.Orders = append(x.Orders, o)
	}
	for i, s := range p.sites {
		x.Steps = append(x.Steps, PathStep{s.site, estimate(p.alone[i]), estimate(p.last[i])})
	}
	for _, list := range []struct{ from, to *[]HeadPath }{{&p.heads, &x.Heads}, {&p.pairs, &x.Pairs}} {
		for _, path := range *list.from {
			path.Gain = estimate(p.gains[path.First+" "+path.Second])
			*list.to = append(*list.to, path)
		}
	}
	return x
}

// less is x - y, entry by entry.
func less(x, y []float64) []float64 { return floats.SubTo(make([]float64, len(x)), x, y) }
