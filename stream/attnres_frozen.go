package stream

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/stream/linear"
)

// Form describes the sources as rows. A site reads them by its softmax, or with delta their sum
// and, by the softmax, some of them. Its output becomes a new row or is added to the last one.
func (a *attnRes) Form(at Site) Form {
	f := plainForm(at, "Kimi Team 2026, arXiv 2603.15031 (attention residuals)")
	rows, after, last := a.config.rows(at.Index), a.config.rows(at.Index+1), a.reads[a.last()]
	f.Res = Fixed.coefficient(after, rows, "n x n", Start{identity(after).Text, table(after, rows, kronecker)})
	f.Up = Fixed.coefficient(after, 1, "n x 1", Start{"1 at the last row", table(after, 1, func(i, _ int) float64 { return indicator(i == after-1) })})
	f.Beyond = []Term{{"a site begins a row of its own, a new source, or adds to the last row inside a block; the last norm reads by a softmax, too",
		nodeNames(last.query, last.gain)}}
	if a.config.Delta {
		f.Source = "Luo et al. 2026, arXiv 2605.18855 (delta attention residuals)"
		f.Beyond = []Term{{Text: "a site begins a row of its own, or adds to the last row inside a block; the last norm reads the rows' sum"}}
	}
	if at.Index > 0 {
		f.Down = a.downForm(a.reads[at.Index], rows, a.config.sources(at.Index))
	}
	return f
}

// downForm returns the coefficients of a read of the rows; the first of rows are the read's
// sources.
func (a *attnRes) downForm(r depthRead, rows, of int) Coefficient {
	choice, text, sum, share := Dependent, "1/n", 0., 1/float64(of)
	if a.config.Delta {
		text, sum = "1, and 1/n more at the n rows of finished blocks", 1
	}
	if r.query == nil {
		choice = Fixed
	}
	if r.gate != nil {
		text, share = "1", 0
		if r.query == nil {
			choice = Learned
		}
	}
	values := table(1, rows, func(_, j int) float64 { return sum + share*indicator(j < of) })
	down := choice.coefficient(1, rows, "1 x n", Start{text, values}, r.query, r.gain, r.gate)
	if !a.config.Delta {
		down.Constraint = WithinOne
	}
	return down
}

// DepthReads lists the softmax reads of all sites and the last one. With delta the sum h, which
// sites read in addition, is not listed.
func (a *attnRes) DepthReads() (sources []string, reads []DepthRead) {
	sources = []string{"embedding"}
	for group := range slices.Chunk(a.c.AllSites(), a.config.Block) {
		sources = append(sources, sourceName(group))
	}
	sources = sources[:a.config.sources(a.last())]
	for i, r := range a.reads {
		if a.config.Delta && i == 0 {
			continue
		}
		read := DepthRead{Name: r.reader, Readers: []string{r.reader}, Softmax: true}
		if heads := a.config.heads(); heads > 1 && r.query != nil {
			read.Readers = nil
			for head := range heads {
				read.Readers = append(read.Readers, fmt.Sprintf("%s, routing head %d", r.reader, head))
			}
		}
		for j := range a.config.sources(i) {
			read.Of = append(read.Of, j)
		}
		if r.query != nil {
			read.Weights = r.prefix + weightsHook
		}
		reads = append(reads, read)
	}
	return sources, reads
}

// sourceName names the summed outputs of consecutive sites: "blocks.3.attention", "blocks.3" for
// both of its sites, "blocks.3 to 4", "blocks.3.feedforward to 4.attention".
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

// Output names the last read, or with Delta h.
func (a *attnRes) Output() string {
	if a.config.Delta {
		return a.Vector.Output()
	}
	return a.reads[a.last()].output
}

// Carry keeps the sources one below the other. A site reads them by the weights of the run; h is
// their sum. Without a run sites read the sum of the sources, as in a plain residual stream: the
// norm that follows removes its scale.
func (a *attnRes) Carry(f *Frozen) {
	one, rows := linear.Identity(a.c.D), 1
	a.CarrySites(f, one, func(at Site) {
		f.Read(at.Name(), a.weighted(f, at.Index), a.After(at))
		if next := a.config.rows(at.Index + 1); next > rows {
			f.Step(linear.Mix{In: rows, Out: next, Width: a.c.D, At: func(_, i, j int) float64 { return kronecker(i, j) }})
			rows = next
		}
		f.Write(at.Name(), linear.Transposed{Of: linear.Row(rows, rows-1, a.c.D)})
	})
	f.Step(a.weighted(f, 2*a.c.Layers))
	a.readOut(f, one)
}

// weighted returns the map from the sources to what read number i reads; the last number is the
// read before the last norm. Each source has a factor: its weight in the run, separate for each
// routing head's part, or 1 if the read has one source. With delta the factor is 1 plus, for
// sources that the softmax reads, the gate times the weight. Without a run all factors are 1.
func (a *attnRes) weighted(f *Frozen, i int) linear.Map {
	heads := a.config.heads()
	byHead := func(at func(token, head, source int) float64) linear.Map {
		return linear.Mix{In: a.config.rows(i) * heads, Out: heads, Width: a.c.D / heads, At: func(token, head, j int) float64 {
			if j%heads != head {
				return 0
			}
			return at(token, head, j/heads)
		}}
	}
	sum := byHead(func(_, _, _ int) float64 { return 1 })
	if i == 0 || i == len(a.reads) {
		return sum
	}
	r, n, h, gate := a.reads[i], a.config.sources(i), indicator(a.config.Delta), 1.
	var of []float64
	if r.query != nil {
		of = f.Recorded(r.prefix+weightsHook, heads*n)
	}
	if f.record == nil {
		return sum
	}
	if r.gate != nil {
		gate = a.values(r.gate)[0]
	}
	return byHead(func(token, head, j int) float64 {
		switch {
		case j >= n:
			return h
		case of == nil:
			return h + gate
		}
		return h + gate*of[(token*heads+head)*n+j]
	})
}
