package stream

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/residua-go/residua/stream/linear"
)

// Form says that the sources are the rows, that a site reads them by its softmax, or their sum and some of them so, and
// that what it gives is a row of its own, or is added to the last one.
func (a *attnRes) Form(at Site) Form {
	f := plainForm(at, "Kimi Team 2026, arXiv 2603.15031 (attention residuals)")
	rows, after := a.c.rows(at.Index), a.c.rows(at.Index+1)
	f.Res = fixed(after, "n x n")
	f.Res.Columns, f.Res.Start.Values = rows, table(after, rows, func(i, j int) float64 { return indicator(i == j) })
	f.Up = Coefficient{Choice: Fixed, Rows: after, Columns: 1, Axes: "n x 1",
		Start: Start{Text: "1 at the last row", Values: table(after, 1, func(i, _ int) float64 { return indicator(i == after-1) })}}
	last := a.reads[len(a.reads)-1]
	f.Beyond = []Term{{Text: "a site begins a row of its own, a new source, or adds to the last row inside a block; the last norm reads by a softmax, too",
		Parameters: nodeNames(last.query, last.gain)}}
	if a.c.Delta {
		f.Source = "Luo et al. 2026, arXiv 2605.18855 (delta attention residuals)"
		f.Beyond = []Term{{Text: "a site begins a row of its own, or adds to the last row inside a block; the last norm reads the rows' sum"}}
	}
	if at.Index > 0 {
		f.Down = a.downForm(a.reads[at.Index], at.Index)
	}
	return f
}

// downForm is what a read makes of the rows.
func (a *attnRes) downForm(r depthRead, site int) Coefficient {
	rows, of := a.c.rows(site), a.c.sources(site)
	down := Coefficient{Choice: Dependent, Constraint: WithinOne, Rows: 1, Columns: rows, Axes: "1 x n", Parameters: nodeNames(r.query, r.gain, r.gate)}
	start, sum := Start{Text: "1/n"}, 0.
	if a.c.Delta {
		start.Text, sum, down.Constraint = "1, and 1/n more at the n rows of finished blocks", 1, ""
	}
	if r.query == nil {
		down.Choice = Fixed
	}
	share := 1 / float64(of)
	if r.gate != nil {
		start.Text, share = "1", 0
		if r.query == nil {
			down.Choice = Learned
		}
	}
	start.Values = table(1, rows, func(_, j int) float64 { return sum + share*indicator(j < of) })
	down.Start = start
	return down
}

// DepthReads are the reads of all sites, and the last. With delta they are what sites read besides h.
func (a *attnRes) DepthReads() (sources []string, reads []DepthRead) {
	var sites []Site
	for block := range a.c.Layers {
		sites = append(sites, a.Sites(block)...)
	}
	sources = []string{"embedding"}
	for group := range slices.Chunk(sites, a.c.Block) {
		sources = append(sources, sourceName(group))
	}
	sources = sources[:a.c.sources(len(a.reads)-1)]
	for i, r := range a.reads {
		if a.c.Delta && i == 0 {
			continue
		}
		read := DepthRead{Name: cmp.Or(r.name, Unembedding), Of: make([]int, a.c.sources(i)), Softmax: true}
		read.Readers = []string{read.Name}
		for j := range read.Of {
			read.Of[j] = j
		}
		if r.query != nil {
			read.Weights = r.weights()
		}
		reads = append(reads, read)
	}
	return sources, reads
}

// sourceName is that of the outputs of some sites in a row: "blocks.3.attention", "blocks.3" of both of
// its sites, "blocks.3 to 4", "blocks.3.feedforward to 4.attention".
func sourceName(sites []Site) string {
	first, last := sites[0], sites[len(sites)-1]
	switch whole := first.Sublayer == Attention && last.Sublayer == FeedForward; {
	case len(sites) == 1:
		return first.Name()
	case whole && first.Block == last.Block:
		return blockName(first.Block)
	case whole:
		return fmt.Sprintf("%s to %d", blockName(first.Block), last.Block)
	}
	return fmt.Sprintf("%s to %d.%s", first.Name(), last.Block, last.Sublayer)
}

// Output is the last read, or h.
func (a *attnRes) Output() string {
	if a.c.Delta {
		return a.Vector.Output()
	}
	return a.readName(len(a.reads) - 1)
}

// FreezeHooks are the weights of all reads.
func (a *attnRes) FreezeHooks() []string {
	var names []string
	for _, r := range a.reads {
		if r.query != nil {
			names = append(names, r.weights())
		}
	}
	return names
}

// Freeze carries the sources, one below the other, which a site reads by the weights of the run; h is their sum.
func (a *attnRes) Freeze(r Record) (*Frozen, error) {
	weights, err := recorded(r, a.FreezeHooks())
	if err != nil {
		return nil, err
	}
	return a.freeze(r, weights), nil
}

// Static reads the sum of the sources, as a plain residual stream is: a norm that follows takes no
// notice of how large it is.
func (a *attnRes) Static() *Frozen { return a.freeze(nil, nil) }

func (a *attnRes) freeze(r Record, weights map[string][]float64) *Frozen {
	d := a.c.D
	one := linear.Identity(d)
	f, rows := NewFrozen(r, d), 1
	f.writeTables(a.tables, one)
	for block := range a.c.Layers {
		for _, site := range a.Sites(block) {
			f.Read(site.Name(), a.weighted(site.Index, weights), a.after(site))
			if next := a.c.rows(site.Index + 1); next > rows {
				f.Step(linear.Mix{In: rows, Out: next, Width: d, At: func(_, i, j int) float64 { return indicator(i == j) }})
				rows = next
			}
			f.Write(site.Name(), linear.Transposed{Of: linear.Row(rows, rows-1, d)})
		}
	}
	f.Step(a.weighted(2*a.c.Layers, weights))
	f.ReadOut(one, thenNorm(a.b, a.norm))
	return f
}

// weighted is what the sources come to in read number i, after all sites in the last norm: each by the run's weight of
// it, or by 1; with delta by 1 and, where it is read once more, by that weight times the gate.
func (a *attnRes) weighted(i int, weights map[string][]float64) linear.Map {
	one := func(_, _, _ int) float64 { return 1 }
	sum := linear.Mix{In: a.c.rows(i), Out: 1, Width: a.c.D, At: one}
	if weights == nil || i == 0 || i == len(a.reads) {
		return sum
	}
	r, n := a.reads[i], a.c.sources(i)
	of, h, gate := weights[r.weights()], indicator(a.c.Delta), 1.
	if r.gate != nil {
		gate = values(a.b, r.gate.Name())[0]
	}
	sum.At = func(token, _, j int) float64 {
		weight := indicator(j < n)
		if j < n && of != nil {
			weight = of[token*n+j]
		}
		return h + gate*weight
	}
	return sum
}
