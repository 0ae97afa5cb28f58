package explore

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/models/cache"
)

// programsKept is how many compiled programs an Explorer keeps.
const programsKept = 6

// leastRow is the shortest row that is compiled.
const leastRow = 16

// programs holds compiled programs, the most recently used at the end.
type programs struct{ kept []program }

type program struct {
	key string
	run closer
}

type closer interface{ Close() }

// get returns the program of a key, and compiles it if necessary. The least recently used program
// makes room.
func (p *programs) get(key string, compile func() (closer, error)) (closer, error) {
	if i := slices.IndexFunc(p.kept, func(k program) bool { return k.key == key }); i >= 0 {
		found := p.kept[i]
		p.kept = append(slices.Delete(p.kept, i, i+1), found)
		return found.run, nil
	}
	run, err := compile()
	if err != nil {
		return nil, err
	}
	if len(p.kept) == programsKept {
		p.kept[0].run.Close()
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	p.kept = append(p.kept, program{key, run})
	return run, nil
}

func (p *programs) close() {
	for _, k := range p.kept {
		k.run.Close()
	}
	p.kept = nil
}

// rowOf returns the length of the row in which to run that many tokens: a power of two, so that few
// programs serve all lengths. What follows a token does not affect it.
func (e *Explorer) rowOf(tokens int) int {
	row := leastRow
	for row < tokens {
		row *= 2
	}
	return min(row, e.options.Tokens)
}

// run runs the model on one row of ids and returns the named activations.
func (e *Explorer) run(ids []int32, names []string, replace []cache.Intervention) (*cache.Cache, error) {
	for _, v := range replace {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	row := make([]int32, e.rowOf(len(ids)))
	copy(row, ids)
	r, err := e.programs.get(strconv.Itoa(len(row))+" "+strings.Join(names, " "), func() (closer, error) {
		return cache.New(e.store, e.spec, cache.Options{Names: names, Seq: len(row), Threads: e.options.Threads})
	})
	if err != nil {
		return nil, err
	}
	return r.(*cache.Runner).Run(row, replace...)
}

// generator continues texts, and changes activations while it does.
type generator struct {
	*generate.Generator
	changer *changer
}

// generator returns a generator that can change the activations that the changes name.
func (e *Explorer) generator(all []change) (*generator, error) {
	c := &changer{sites: e.sites}
	hooks := c.hooks(all)
	key := "generate " + strings.Join(slices.Sorted(maps.Keys(hooks)), " ")
	run, err := e.programs.get(key, func() (closer, error) {
		g, err := generate.New(e.store, e.spec, e.tokenizer, generate.Options{Threads: e.options.Threads, Window: e.options.Tokens, Hooks: hooks})
		if err != nil {
			return nil, err
		}
		return &generator{g, c}, nil
	})
	if err != nil {
		return nil, err
	}
	return run.(*generator), nil
}
