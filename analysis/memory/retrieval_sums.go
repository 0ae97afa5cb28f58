package memory

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/internal/stats"
	"github.com/residua-go/residua/stream/linear"
)

// tokenWrites holds what has been written for a token so far: X = sum_i w_i ⊗ y_i.
type tokenWrites struct {
	dk, dv  int
	writers []int      // of each write
	w, y    *mat.Dense // [N, Dk], [N, Dv]; nil before the first
	x       *mat.Dense // [Dk, Dv]
	means   []float64  // of the entries of each w_i ⊗ y_i
	sizes   []float64  // |w_i|^2 |y_i|^2
	wrote   []float64  // |X_s|^2 of what each writer s wrote
}

// add appends a writer's writes of values [m, Dv] by keys [m, Dk].
func (w *tokenWrites) add(writer int, keys *mat.Dense, values []float64) {
	m, _ := keys.Dims()
	y := mat.NewDense(m, w.dv, values)
	for j := range m {
		key, value := keys.RawRowView(j), y.RawRowView(j)
		w.writers = append(w.writers, writer)
		w.means = append(w.means, floats.Sum(key)*floats.Sum(value)/float64(w.dk*w.dv))
		w.sizes = append(w.sizes, floats.Dot(key, key)*floats.Dot(value, value))
	}
	wrote := numerics.Mul(keys.T(), y) // [Dk, Dv]
	w.wrote = append(w.wrote, numerics.Dot(wrote, wrote))
	w.x.Add(w.x, wrote)
	w.w, w.y = numerics.Stacked(w.w, keys), numerics.Stacked(w.y, y)
}

// read returns what a key [Dk] reads of each write after a norm, c [N, Dv].
func (w *tokenWrites) read(norm linear.Norm, key []float64) *mat.Dense {
	centred := norm.Centre
	norm.Centre = false
	rows := make([]float64, w.dk*w.dv)
	for i := range rows {
		rows[i] = key[i/w.dv]
	}
	weights := mat.NewDense(w.dk, w.dv, norm.Apply(0, rows)) // of the entries of X, column by column
	c := numerics.Mul(w.w, weights)
	c.MulElem(c, w.y)
	if centred {
		sums := make([]float64, w.dv)
		for d := range w.dk {
			floats.Add(sums, weights.RawRowView(d))
		}
		for i, mean := range w.means {
			floats.AddScaled(c.RawRowView(i), -mean, sums)
		}
	}
	return c
}

// readBack measures how well each write can be read by the key that wrote it, and adds the
// result to the sums of its writer.
func (w *tokenWrites) readBack(backs []backSum) {
	total, read := floats.Sum(w.sizes), numerics.Mul(w.w, w.x) // [N, Dv]
	for i, writer := range w.writers {
		key, value, got := w.w.RawRowView(i), w.y.RawRowView(i), read.RawRowView(i)
		size := floats.Dot(key, key)
		if size == 0 {
			continue
		}
		floats.Scale(1/size, got)
		b, distance := &backs[writer], floats.Distance(got, value, 2)
		b.error += distance * distance
		b.random += (total - w.sizes[i]) / size
		b.size += floats.Dot(value, value)
	}
}

// backSum holds the sums from which a ReadBack is computed.
type backSum struct{ error, random, size float64 }

// readSum collects a KeyedRead: until finish its numbers are sums over tokens and keys.
type readSum struct {
	KeyedRead
	first         int     // of its keys, among those of the site
	squares       float64 // sum <q, q>
	model, random sharpnessSum
}

func newReadSum(name string, first, keys, writers int) *readSum {
	of := func() []float64 { return make([]float64, writers) }
	return &readSum{KeyedRead: KeyedRead{Reader: name, Keys: keys, Share: of(), Energy: of(), Chance: of()}, first: first}
}

// add adds what the reader's keys, and random keys, read from a token's writes after a norm.
func (s *readSum) add(w *tokenWrites, norm linear.Norm, keys *mat.Dense, draw *rand.Rand) {
	s.Writes = len(w.writers)
	addShares(s.Chance, w.wrote)
	for j := range s.Keys {
		c := w.read(norm, keys.RawRowView(s.first+j))
		s.addRead(c, s.model.add(c), w)
		s.random.add(w.read(norm, numerics.UnitVectors(draw, 1, w.dk).RawRowView(0)))
	}
}

// addRead adds what a key reads of each write, c [N, Dv], whose sum is q.
func (s *readSum) addRead(c *mat.Dense, q []float64, w *tokenWrites) {
	parts, energies := mat.NewDense(len(s.Share), w.dv, nil), make([]float64, len(s.Share))
	for i, writer := range w.writers {
		floats.Add(parts.RawRowView(writer), c.RawRowView(i))
	}
	for i := range energies {
		part := parts.RawRowView(i)
		s.Share[i] += floats.Dot(part, q)
		energies[i] = floats.Dot(part, part)
	}
	addShares(s.Energy, energies)
	s.squares += floats.Dot(q, q)
}

// addShares divides sizes by their total and adds the results to sums. It adds nothing if the
// total is 0.
func addShares(sums, sizes []float64) {
	if total := floats.Sum(sizes); total != 0 {
		floats.AddScaled(sums, 1/total, sizes)
	}
}

// finish turns sums into means over tokens and keys.
func (s *readSum) finish(tokens int) KeyedRead {
	n := float64(tokens * s.Keys)
	floats.Scale(numerics.Ratio(1, s.squares), s.Share)
	floats.Scale(1/n, s.Energy)
	floats.Scale(1/float64(tokens), s.Chance)
	s.Model, s.Random = s.model.mean(n), s.random.mean(n)
	return s.KeyedRead
}

// sharpnessSum holds the sums from which a Sharpness is computed; Signal is S, and crosstalk is
// C.
type sharpnessSum struct {
	Sharpness
	crosstalk float64
}

// add adds the parts c [N, Dv] that a key reads of each write, and returns their sum.
func (s *sharpnessSum) add(c *mat.Dense) []float64 {
	n, dv := c.Dims()
	q, energies := make([]float64, dv), make([]float64, n)
	for i := range energies {
		row := c.RawRowView(i)
		floats.Add(q, row)
		energies[i] = floats.Dot(row, row)
	}
	strongest, all := floats.MaxIdx(energies), floats.Sum(energies)
	most, distance := energies[strongest], floats.Distance(q, c.RawRowView(strongest), 2)
	s.Effective += numerics.Ratio(all*all, floats.Dot(energies, energies))
	s.Top += numerics.Ratio(most, all)
	s.Signal += most
	s.crosstalk += distance * distance
	return q
}

func (s sharpnessSum) mean(n float64) Sharpness {
	return Sharpness{Effective: s.Effective / n, Top: s.Top / n, Signal: numerics.Ratio(s.Signal, s.Signal+s.crosstalk)}
}

// gapSum holds the values from which a RetrievalByDistance is computed.
type gapSum struct {
	share, energy, chance []float64 // of readers' parts
	errors, random        []float64 // of pairs
}

// add adds a pair of a site that wrote and a reader, which may have several parts.
func (g *gapSum) add(back ReadBack, reads []KeyedRead, writer int) {
	g.errors, g.random = append(g.errors, back.Error), append(g.random, back.Random)
	for _, r := range reads {
		g.share, g.energy, g.chance = append(g.share, r.Share[writer]), append(g.energy, r.Energy[writer]), append(g.chance, r.Chance[writer])
	}
}

func (g *gapSum) result(distance int) RetrievalByDistance {
	return RetrievalByDistance{Distance: distance, Pairs: len(g.errors), Share: numerics.Ratio(floats.Sum(g.share), float64(len(g.share))),
		Gain: numerics.Ratio(floats.Sum(g.energy), floats.Sum(g.chance)), Error: stats.Median(g.errors), Random: stats.Median(g.random)}
}
