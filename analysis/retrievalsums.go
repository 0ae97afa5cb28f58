package analysis

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream/linear"
)

// tokenWrites is what has been written for a token so far: X = sum_i w_i ⊗ y_i.
type tokenWrites struct {
	dk, dv  int
	writers []int        // of each write
	w, y    *mat.Dense   // [N, Dk], [N, Dv]; nil before the first
	x       *mat.Dense   // [Dk, Dv]
	means   []float64    // of the entries of each w_i ⊗ y_i
	sizes   []float64    // |w_i|^2 |y_i|^2
	matrix  []*mat.Dense // what each writer wrote, [Dk, Dv]
}

func newTokenWrites(dk, dv int) *tokenWrites {
	return &tokenWrites{dk: dk, dv: dv, x: mat.NewDense(dk, dv, nil)}
}

// add appends the writes of a writer by its keys at token t, of values [m, Dv].
func (w *tokenWrites) add(writer int, keys linear.Mix, t int, values []float64) {
	one := mat.NewDense(keys.In, w.dk, nil)
	for j := range keys.In {
		one.SetRow(j, keyOf(keys, t, j))
	}
	y := mat.NewDense(keys.In, w.dv, values)
	for j := range keys.In {
		key, value := one.RawRowView(j), y.RawRowView(j)
		w.writers = append(w.writers, writer)
		w.means = append(w.means, floats.Sum(key)*floats.Sum(value)/float64(w.dk*w.dv))
		w.sizes = append(w.sizes, floats.Dot(key, key)*floats.Dot(value, value))
	}
	var wrote mat.Dense
	wrote.Mul(one.T(), y) // [Dk, Dv]
	w.matrix = append(w.matrix, &wrote)
	w.x.Add(w.x, &wrote)
	w.w, w.y = stacked(w.w, one), stacked(w.y, y)
}

// stacked is b below a; a may be nil.
func stacked(a, b *mat.Dense) *mat.Dense {
	if a == nil {
		return b
	}
	var both mat.Dense
	both.Stack(a, b)
	return &both
}

// read is what a key [Dk] reads of each write after a norm, c [N, Dv].
func (w *tokenWrites) read(norm linear.Norm, key []float64) *mat.Dense {
	centred := norm.Centre
	norm.Centre = false
	ones := make([]float64, w.dk*w.dv)
	for i := range ones {
		ones[i] = key[i/w.dv]
	}
	weights := mat.NewDense(w.dk, w.dv, norm.Apply(0, ones)) // of the entries of X, column by column
	var c mat.Dense
	c.Mul(w.w, weights)
	c.MulElem(&c, w.y)
	if centred {
		sums := make([]float64, w.dv)
		for d := range w.dk {
			floats.Add(sums, weights.RawRowView(d))
		}
		for i, mean := range w.means {
			floats.AddScaled(c.RawRowView(i), -mean, sums)
		}
	}
	return &c
}

// readBack adds how well each write can be read by the key that wrote it.
func (w *tokenWrites) readBack(backs []*backSum) {
	total := floats.Sum(w.sizes)
	var read mat.Dense
	read.Mul(w.w, w.x) // [N, Dv]
	for i, writer := range w.writers {
		key, value := w.w.RawRowView(i), w.y.RawRowView(i)
		size := floats.Dot(key, key)
		if size == 0 {
			continue
		}
		got := read.RawRowView(i)
		floats.Scale(1/size, got)
		distance := floats.Distance(got, value, 2)
		b := backs[writer]
		b.error += distance * distance
		b.random += (total - w.sizes[i]) / size
		b.size += floats.Dot(value, value)
	}
}

// backSum is the sums of a ReadBack.
type backSum struct{ error, random, size float64 }

func (b *backSum) result(dk int) ReadBack {
	return ReadBack{Error: ratioOf(b.error, b.size), Random: ratioOf(b.random, b.size) / float64(dk)}
}

// readSum is the sums of a KeyedRead.
type readSum struct {
	name                  string
	first, keys, writes   int
	share, energy, chance []float64 // by writer
	squares               float64   // sum <q, q>
	model, random         sharpnessSum
}

func newReadSum(name string, first, keys, writers int) *readSum {
	return &readSum{name: name, first: first, keys: keys, share: make([]float64, writers), energy: make([]float64, writers), chance: make([]float64, writers)}
}

// addChance adds a token's share of each writer in the stream.
func (s *readSum) addChance(w *tokenWrites) {
	s.writes = len(w.writers)
	total := 0.0
	sizes := make([]float64, len(w.matrix))
	for i, wrote := range w.matrix {
		sizes[i] = floats.Dot(wrote.RawMatrix().Data, wrote.RawMatrix().Data)
		total += sizes[i]
	}
	for i, size := range sizes {
		s.chance[i] += ratioOf(size, total)
	}
}

// addRead adds what a key reads, c [N, Dv], which adds up to q.
func (s *readSum) addRead(c *mat.Dense, q []float64, w *tokenWrites) {
	parts := mat.NewDense(len(s.share), w.dv, nil)
	for i, writer := range w.writers {
		floats.Add(parts.RawRowView(writer), c.RawRowView(i))
	}
	energies, total := make([]float64, len(s.share)), 0.0
	for i := range energies {
		part := parts.RawRowView(i)
		s.share[i] += floats.Dot(part, q)
		energies[i] = floats.Dot(part, part)
		total += energies[i]
	}
	for i, energy := range energies {
		s.energy[i] += ratioOf(energy, total)
	}
	s.squares += floats.Dot(q, q)
}

func (s *readSum) result(tokens int) KeyedRead {
	n := float64(tokens * s.keys)
	r := KeyedRead{Reader: s.name, Keys: s.keys, Writes: s.writes, Model: s.model.result(n), Random: s.random.result(n)}
	for i := range s.share {
		r.Share, r.Energy, r.Chance = append(r.Share, ratioOf(s.share[i], s.squares)), append(r.Energy, s.energy[i]/n), append(r.Chance, s.chance[i]/float64(tokens))
	}
	return r
}

// sharpnessSum is the sums of a Sharpness.
type sharpnessSum struct{ effective, top, signal, crosstalk float64 }

// add adds what a key reads of each write, c [N, Dv], and to the reader's sums if there is one.
func (s *sharpnessSum) add(reader *readSum, c *mat.Dense, w *tokenWrites) {
	q := make([]float64, w.dv)
	best, most, sum, squares := 0, -1.0, 0.0, 0.0
	for i := range w.writers {
		row := c.RawRowView(i)
		floats.Add(q, row)
		energy := floats.Dot(row, row)
		sum, squares = sum+energy, squares+energy*energy
		if energy > most {
			best, most = i, energy
		}
	}
	s.effective += ratioOf(sum*sum, squares)
	s.top += ratioOf(most, sum)
	s.signal += most
	distance := floats.Distance(q, c.RawRowView(best), 2)
	s.crosstalk += distance * distance
	if reader != nil {
		reader.addRead(c, q, w)
	}
}

func (s sharpnessSum) result(n float64) Sharpness {
	return Sharpness{Effective: s.effective / n, Top: s.top / n, Signal: ratioOf(s.signal, s.signal+s.crosstalk)}
}

// gapSum is the sums of a RetrievalByDistance.
type gapSum struct {
	parts                 float64 // of readers
	share, energy, chance float64
	errors, random        []float64 // of pairs
}

// add adds a pair of a site that wrote, and of a reader in its parts.
func (g *gapSum) add(back ReadBack, reads []KeyedRead, writer int) {
	g.errors, g.random = append(g.errors, back.Error), append(g.random, back.Random)
	for _, r := range reads {
		g.parts++
		g.share, g.energy, g.chance = g.share+r.Share[writer], g.energy+r.Energy[writer], g.chance+r.Chance[writer]
	}
}

func (g *gapSum) result(distance int) RetrievalByDistance {
	return RetrievalByDistance{Distance: distance, Pairs: len(g.errors), Share: ratioOf(g.share, g.parts), Gain: ratioOf(g.energy, g.chance), Error: median(g.errors), Random: median(g.random)}
}

// median is the middle value, or the mean of the two; 0 of none.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	return (sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2
}
