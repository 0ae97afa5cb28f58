package memory

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/figure"
)

// Table lists the readers.
func (r *WriteRetrieval) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("what readers get of %d tokens' writes, Dk = %d", r.Tokens, r.Dk), "lrrrrrrrrlr",
		"reader", "keys", "writes", "effective", "of random keys", "strongest write", "of random keys", "signal", "of random keys", "largest share", "share")
	t.Note = "effective: how many writes a key reads at once. strongest write: its part of the energy that is read.\n" +
		"signal: that energy over it and the crosstalk of all others; 1/2 where they are as strong. of random keys:\n" +
		"the same for as many random keys. largest share: the writer that most of a read comes from; shares of a read\n" +
		"add up to 1."
	for _, x := range r.Reads {
		largest := floats.MaxIdx(x.Share)
		t.Row(x.Reader, x.Keys, x.Writes, x.Model.Effective, x.Random.Effective,
			x.Model.Top, x.Random.Top, x.Model.Signal, x.Random.Signal, r.Writers[largest], x.Share[largest])
	}
	return t
}

// Figures shows the writers' shares of each read, how much more of a writer a reader gets than
// random keys would, how many writes are read at once, and how much of a write is left by
// distance.
func (r *WriteRetrieval) Figures() []figure.Figure {
	return []figure.Figure{
		r.byReader("What each reader reads, by who wrote it: share of the read", func(x KeyedRead, s int) float64 { return x.Share[s] }),
		r.byReader("What each reader gets of a writer, compared with random keys: log2 of the ratio of energies", func(x KeyedRead, s int) float64 {
			return math.Log2(x.Energy[s] / x.Chance[s])
		}),
		r.sharpness(), r.distances(),
	}
}

// byReader returns a map of a value of each writer and reader; it leaves writers that come
// after a reader blank.
func (r *WriteRetrieval) byReader(title string, of func(x KeyedRead, writer int) float64) figure.Heatmap {
	h := figure.Heatmap{Title: title, XLabel: "read by", YLabel: "written by", Diverging: true}
	for _, x := range r.Reads {
		for i := range x.Share {
			v := of(x, i)
			if math.IsInf(v, 0) {
				v = math.NaN()
			}
			h.Set(r.Writers[i], x.Reader, v)
		}
	}
	return h
}

// sharpness draws the effective number of writes, reader by reader.
func (r *WriteRetrieval) sharpness() figure.Lines {
	l := figure.NewLines("Effective number of writes that a key reads", "reader", "writes", "the model's keys", "random keys", "writes so far")
	l.Series[0].Marks = true
	for _, x := range r.Reads {
		l.AddNamed(x.Reader, x.Model.Effective, x.Random.Effective, float64(x.Writes))
	}
	return l
}

// distances draws how much of a write is left, by the number of sites that have written since.
func (r *WriteRetrieval) distances() figure.Lines {
	l := figure.NewLines("A site's writes, read back by their own keys", "sites that wrote in between", "|read - y|² / |y|², median", "the model",
		"if other keys were random")
	l.LogY, l.Series[0].Marks = true, true
	for _, d := range r.Distances.Distances {
		l.Add(float64(d.Distance), d.Error, d.Random)
	}
	return l
}

// RetrievalDistances holds means by distance: what becomes of a site's writes.
type RetrievalDistances struct {
	Distances []RetrievalByDistance `json:"distances"`
}

// Table lists the distances.
func (d RetrievalDistances) Table() figure.Table {
	t := figure.NewTable("a site's writes with distance", "rrrrrr",
		"sites in between", "pairs", "share of a read", "energy, of random keys'", "median error read by their own keys", "if other keys were random")
	t.Note = "energy: what a reader gets of a write, divided by what random keys would get. error: |read - written|² /\n" +
		"|written|² when a write is read again by the key that wrote it."
	for _, x := range d.Distances {
		t.Row(x.Distance, x.Pairs, x.Share, x.Gain, x.Error, x.Random)
	}
	return t
}
