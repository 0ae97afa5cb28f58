package analysis

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/check"
)

// measure aligns writers with readers, given by their numbers: all parts of one with all of the other.
type measure interface {
	align(writer, reader int) ([][]Alignment, error)
}

// newMeasure is that of a model's kind of stream.
func newMeasure(carry *carrier, writers, readers []end) measure {
	if writers[0].keyed != nil && readers[0].keyed != nil {
		return newKeyedMeasure(carry, writers, readers)
	}
	m := &vectorMeasure{carry: carry, readers: readers, last: -1}
	for _, w := range writers {
		m.writers = append(m.writers, directionsOf(w))
	}
	return m
}

// vectorMeasure is that of streams of vectors. Of the readers, whose weights take room, one is read at a time.
type vectorMeasure struct {
	carry   *carrier
	writers []*directions
	readers []end
	last    int // the reader that is read
	reader  *directions
}

func (m *vectorMeasure) align(writer, reader int) ([][]Alignment, error) {
	if m.last != reader {
		m.last, m.reader = reader, directionsOf(m.readers[reader])
	}
	w, r := m.writers[writer], m.reader
	maps, err := m.carry.between(w.end, r.end)
	if err != nil {
		return nil, err
	}
	scale, scalar := maps.Number()
	from := r
	if !scalar {
		from = r.back(maps)
	}
	products := times(w.pack(), from.pack().T())
	size := maps.Gain(w.size)
	return alignments(w.parts, r.parts, func(a, b int) Alignment {
		norm := math.Abs(scale) * math.Sqrt(max(0, products.At(a, b)))
		trace := from.norms[b] * from.norms[b]
		chance := chanceOf(dimensions{w.size, 1}, w.spread(a, w.size), from.spread(b, w.size), ratioOf(scale*scale*trace, size*size*r.norms[b]*r.norms[b]))
		return align(norm, w.norms[a], r.norms[b], size, chance)
	}), nil
}

// alignments are those of all pairs of parts.
func alignments(from, to []string, of func(a, b int) Alignment) [][]Alignment {
	all := make([][]Alignment, len(from))
	for a := range from {
		for b := range to {
			all[a] = append(all[a], of(a, b))
		}
	}
	return all
}

// keyedMeasure is that of matrix streams.
type keyedMeasure struct {
	carry            *carrier
	writers, readers []*keyedDirections
	weighed          map[[2]int]float64 // |W_out M W_in|^2 of ends that both have weights, by their numbers
}

func newKeyedMeasure(carry *carrier, writers, readers []end) *keyedMeasure {
	m := &keyedMeasure{carry: carry, weighed: map[[2]int]float64{}}
	for _, w := range writers {
		m.writers = append(m.writers, keyedDirectionsOf(w))
	}
	for _, r := range readers {
		m.readers = append(m.readers, keyedDirectionsOf(r))
	}
	dv := m.writers[0].dimensions().values
	for v := range dv {
		for w := v; w < dv; w++ {
			m.addBlocks(v, w)
		}
	}
	for _, ends := range [][]*keyedDirections{m.writers, m.readers} {
		for _, e := range ends {
			if e.gram != nil {
				e.finish()
			}
		}
	}
	return m
}

// addBlocks adds block v, w of all ends with weights to their sums, and products of the blocks to those of the ends.
func (m *keyedMeasure) addBlocks(v, w int) {
	read := make([]*mat.Dense, len(m.readers))
	for j, r := range m.readers {
		if r.gram != nil {
			block := r.block(v, w)
			r.sums[0].add(v, w, block)
			if read[j] = block; r.keyed.centred {
				read[j] = r.sums[0].centre(mat.DenseCopyOf(block), v, w)
			}
		}
	}
	for i, writer := range m.writers {
		if writer.gram == nil {
			continue
		}
		block := writer.block(v, w)
		writer.sums[0].add(v, w, block)
		for j, other := range read {
			if other == nil || writer.at >= m.readers[j].at {
				continue
			}
			product := dotOf(block, other)
			if v != w {
				product *= 2
			}
			m.weighed[[2]int{i, j}] += product
		}
	}
}

func (m *keyedMeasure) align(writer, reader int) ([][]Alignment, error) {
	w, r := m.writers[writer], m.readers[reader]
	maps, err := m.carry.between(w.end, r.end)
	if err != nil {
		return nil, err
	}
	scale, scalar := maps.Number()
	if !scalar {
		return nil, check.Value("wiring: "+w.name(0)+" to "+r.name(0), "a stream that keeps its keys as they are", "one that mixes them")
	}
	products := m.products(writer, reader)
	return alignments(w.parts, r.parts, func(a, b int) Alignment {
		norm := math.Abs(scale) * math.Sqrt(max(0, products.At(a, b)))
		return align(norm, w.norms[a], r.norms[b], math.Abs(scale), chanceOf(w.dimensions(), w.spreads[a], r.spreads[b], 1))
	}), nil
}

// products are |W_out W_in|^2 = tr(G C H C) of all parts. Of a head that writes by w it is w^T (sum over v of H_vv) w,
// of one that reads by r_v in column v the sum of r_v^T G_vv r_v, G or H after C.
func (m *keyedMeasure) products(writer, reader int) *mat.Dense {
	w, r := m.writers[writer], m.readers[reader]
	products := mat.NewDense(len(w.parts), len(r.parts), nil)
	switch {
	case w.gram == nil:
		for b := range r.parts {
			keys := r.sums[b].keys
			if r.keyed.centred {
				keys = r.sums[b].centredKeys()
			}
			for a := range w.parts {
				part := w.part(w.columns[0], a)
				products.Set(a, b, dotOf(times(part, keys), part))
			}
		}
	case r.gram == nil:
		sums := &w.sums[0]
		for v, block := range sums.diagonal {
			if r.keyed.centred {
				block = sums.centre(mat.DenseCopyOf(block), v, v)
			}
			for b := range r.parts {
				part := r.part(r.columns[v], b)
				products.Set(0, b, products.At(0, b)+dotOf(times(part, block), part))
			}
		}
	default:
		products.Set(0, 0, m.weighed[[2]int{writer, reader}])
	}
	return products
}

// dotOf is the sum of the products of two matrices' entries.
func dotOf(a, b *mat.Dense) float64 {
	sum := 0.0
	for i := range a.RawMatrix().Rows {
		for j, x := range a.RawRowView(i) {
			sum += x * b.At(i, j)
		}
	}
	return sum
}
