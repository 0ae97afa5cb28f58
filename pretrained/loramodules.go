package pretrained

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// loraModule is a weight matrix of an architecture's files, which peft calls a module.
type loraModule struct {
	name    string        // "model.layers.0.self_attn.q_proj"
	adapter graph.Adapter // its place in our parameter, without rank and scale
	rows    []int         // row of the file's matrix [out, in] for each of our columns; nil: in the same order
	refused string        // why it cannot have an adapter

	transposed bool // the file's matrix is [in, out] (Conv1D of transformers)
}

// loraModules lists a model's weight matrices as the table of an architecture names them: the
// architecture with the given name or, if name is "", the first that fits the model. Without a
// table they have our parameters' names.
func loraModules(zoo models.Zoo, spec models.Spec, name string) (a Architecture, modules []loraModule, err error) {
	plan, err := planOf(spec)
	if err == nil && name != "" {
		a, err = architectureOf(zoo, spec, name)
	} else if err == nil {
		a, _ = firstFitting(architectures(zoo), spec)
	}
	if err != nil {
		return a, nil, err
	}
	if a.Tensors == "" {
		for _, p := range plan.Params() {
			if len(p.Shape) > 1 {
				modules = append(modules, loraModule{name: p.Name, refused: refusal(p), adapter: graph.Adapter{Name: p.Name, Of: p.Name, Width: p.Size() / p.Shape[0]}})
			}
		}
		return a, modules, nil
	}
	l := a.layout(spec)
	for block := range l.layers + 1 {
		for i, r := range l.rows {
			if strings.Contains(r.theirs, "%d") == (block > 0) && len(l.merged(r.theirAxes)) > 1 {
				modules = append(modules, l.module(plan, i, block-1))
			}
		}
	}
	return a, modules, nil
}

// module returns the module of row i, for a block if the row has one for each block.
func (l layout) module(plan *graph.Store, i, block int) loraModule {
	one := l // a weight with one input, whose entries are columns
	one.sizes = maps.Clone(l.sizes)
	one.sizes[l.rows[i].axes[0]] = 1
	p := one.place(i, block)
	m := loraModule{name: l.Prefix + strings.TrimSuffix(p.name, ".weight"), rows: make([]int, p.count), refused: refusal(plan.Param(p.ours))}
	if p.name == l.Head {
		m.name = strings.TrimSuffix(p.name, ".weight")
	}
	if p.more || p.from > 0 {
		m.refused = "it holds several of our parameters"
	}
	m.adapter = graph.Adapter{Name: p.ours + "." + m.name[strings.LastIndexByte(m.name, '.')+1:], Of: p.ours, From: p.at, Width: p.count}
	m.transposed = l.rows[i].theirAxes[0] == l.rows[i].axes[0]
	columns := make([]float32, p.size)
	for j := range columns {
		columns[j] = float32(j)
	}
	theirs := make([]int, p.count)
	p.each(func(their, our int) { theirs[our-p.at] = their })
	for j, column := range l.reordered(p.ours, columns, false)[p.at:][:p.count] {
		m.rows[j] = theirs[int(column)-p.at]
	}
	return m
}

// refusal says why a parameter cannot have adapters, "" if it can.
func refusal(p *graph.Param) string {
	switch {
	case p.Role == graph.RoleReadKeys || p.Role == graph.RoleWriteKeys:
		return "it holds the keys of a matrix stream"
	case p.Role == "":
		return "it is a table, a norm or an unembedding"
	case len(p.Shape) > 2:
		return "it holds several matrices, as experts do"
	}
	return ""
}

// Adapters returns the adapters that a section train.lora gives a model: one for each weight whose
// name a target matches, as a whole or from a dot on. architecture is what ArchitectureAt returns.
func Adapters(zoo models.Zoo, spec models.Spec, architecture string, l runconfig.Lora) ([]graph.Adapter, error) {
	_, modules, err := loraModules(zoo, spec, architecture)
	if err != nil {
		return nil, err
	}
	var adapters []graph.Adapter
	for _, m := range modules {
		at := slices.IndexFunc(l.Targets, func(glob string) bool { return matches(glob, m.name) })
		if at < 0 {
			continue
		}
		if m.refused != "" {
			return nil, layers.Setting("train.lora.targets", "%q matches %s: %s, and cannot have an adapter", l.Targets[at], m.name, m.refused)
		}
		adapters = append(adapters, m.with(l.Rank, l.Alpha/float64(l.Rank)))
	}
	for _, glob := range l.Targets {
		if !slices.ContainsFunc(modules, func(m loraModule) bool { return matches(glob, m.name) }) {
			return nil, layers.Setting("train.lora.targets", "want globs of the model's weights %v, got %q, which matches none", lastNames(modules), glob)
		}
	}
	return adapters, nil
}

// AdaptersSize returns how many parameters a model's adapters have.
func AdaptersSize(spec models.Spec, adapters []graph.Adapter) (n int, err error) {
	plan, err := planOf(spec)
	if err != nil {
		return 0, err
	}
	for _, a := range adapters {
		n += a.Rank * (plan.Param(a.Of).Shape[0] + a.Width)
	}
	return n, nil
}

// with returns the module's adapter.
func (m loraModule) with(rank int, scale float64) graph.Adapter {
	a := m.adapter
	a.Rank, a.Scale = rank, scale
	return a
}

// matches tells whether a glob matches a name, or its end from a dot on.
func matches(glob, name string) bool {
	whole, err := path.Match(glob, name)
	end, _ := path.Match("*."+glob, name)
	return err == nil && (whole || end)
}

// lastNames lists the last words of the names of modules that can have adapters.
func lastNames(modules []loraModule) []string {
	names := map[string]bool{}
	for _, m := range modules {
		if m.refused == "" {
			names[m.name[strings.LastIndexByte(m.name, '.')+1:]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// moduleOf returns the module of an adapter's name.
func moduleOf(modules []loraModule, adapter string) (loraModule, error) {
	for _, m := range modules {
		if m.adapter.Name == adapter {
			return m, nil
		}
	}
	return loraModule{}, errors.Errorf("adapter %q: the model has no such weight", adapter)
}
