package generate

import (
	"math/bits"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

const (
	leastChunk = 16  // tokens in the smallest program that reads prompts
	mostChunk  = 256 // tokens in the largest; the other texts wait while it runs
)

// shape is the size for which a program is compiled.
type shape struct {
	rows, tokens int  // tokens of a row
	all          bool // logits of all tokens, instead of one per row
}

// machine runs the model on tokens. It compiles programs of several shapes, each when it is
// first needed; all share one cache.
type machine struct {
	spec     models.Spec
	options  graph.ProgramOptions
	cache    *graph.Cache
	chunk    int // most tokens of a text in one run
	programs map[shape]*models.Compiled
	rows     []graph.RunRow // scratch
}

// newMachine compiles the program for one token of one text.
func newMachine(store *graph.Store, spec models.Spec, o Options, window, rows int) (*machine, error) {
	m := &machine{spec: spec, programs: map[shape]*models.Compiled{}, chunk: min(mostChunk, ceilPower(window))}
	if len(o.Hooks) > 0 {
		m.chunk = 1
	}
	if spec.Attention.Positions == models.PositionsLearned {
		m.chunk = min(m.chunk, spec.Seq)
	}
	var err error
	if m.cache, err = graph.NewCache(rows, window); err != nil {
		return nil, err
	}
	m.options.Options = graph.Options{Store: store.Serve(), Threads: o.Threads, Device: o.Device, Cache: m.cache, Hooks: o.Hooks}.For(o.Precision)
	if _, err = m.program(shape{rows: 1, tokens: 1}); err == nil && o.Release {
		m.options.Store.Release()
	}
	return m, err
}

// program returns the program of a shape.
func (m *machine) program(s shape) (*models.Compiled, error) {
	if p := m.programs[s]; p != nil {
		return p, nil
	}
	want := models.Outputs{Logits: true}
	if s.tokens > 1 && !s.all {
		want.LogitsAt = s.rows
	}
	o := m.options
	o.RowsAlone = s.tokens == 1 // texts that decode together
	p, err := models.Compile(m.spec, s.rows, s.tokens, want, o)
	if err == nil {
		m.programs[s] = p
	}
	return p, err
}

func (m *machine) close() {
	for _, p := range m.programs {
		p.Close()
	}
}

// ceilPower returns the smallest power of two that is at least n.
func ceilPower(n int) int { return 1 << bits.Len(uint(n-1)) }

// piece chooses how many of a text's n tokens, two or more, to read next, and the size of the
// program that reads them. At most a quarter of the program's tokens are padding, unless it is the
// smallest program.
func (m *machine) piece(n int) (tokens, program int) {
	program = min(m.chunk, max(leastChunk, ceilPower(n)))
	if program > leastChunk && 4*n < 3*program {
		program /= 2
	}
	return min(n, program), program
}

// read runs the model on a text's next tokens. It returns how many of them it has read, and
// the logits of all of these (with all) or of the last one, valid until the next run.
func (m *machine) read(row int, ids []int32, all bool) (n int, logits []float32, err error) {
	n, tokens := m.piece(len(ids))
	p, err := m.program(shape{1, tokens, all})
	if err != nil {
		return 0, nil, err
	}
	copy(p.Tokens, ids[:n])
	clear(p.Tokens[n:])
	if !all {
		p.At[0] = int32(n - 1)
	}
	if logits, err = m.run(p, append(m.rows[:0], graph.RunRow{Row: row, Tokens: n})); all && err == nil {
		logits = logits[:n*m.spec.Vocab]
	}
	return n, logits, err
}

// step runs the model on one token of each of some texts and returns their logits, valid until
// the next run.
func (m *machine) step(rows []int, ids []int32) ([]float32, error) {
	p, err := m.program(shape{rows: min(ceilPower(len(rows)), m.cache.Rows()), tokens: 1})
	if err != nil {
		return nil, err
	}
	copy(p.Tokens, ids)
	clear(p.Tokens[len(ids):])
	m.rows = m.rows[:0]
	for _, row := range rows {
		m.rows = append(m.rows, graph.RunRow{Row: row, Tokens: 1})
	}
	return m.run(p, m.rows)
}

func (m *machine) run(p *models.Compiled, rows []graph.RunRow) ([]float32, error) {
	if err := p.Run(graph.RunOptions{Rows: rows}); err != nil {
		return nil, err
	}
	logits, err := graph.Value(p.Logits) // [rows or tokens, vocab]
	if err != nil {
		return nil, err
	}
	return logits.Float32s(), nil
}
