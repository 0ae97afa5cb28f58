package analysis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// HeadSpaces says whether heads write to disjoint subspaces, so that they do not change each
// other's information (Elhage et al. 2021: "once added, information persists in a subspace
// unless another layer actively deletes it"). Head h writes along the rows of W_O^h; in a
// matrix stream, which stores a head's output by a key, along that key. If the subspaces are
// disjoint, the rank of their sum is the sum of their ranks; if they are also orthogonal, the
// mean squared cosine of two heads' subspaces is 0.
type HeadSpaces struct {
	Stream string       `json:"stream"`
	Draws  int          `json:"draws"`
	Groups []HeadsGroup `json:"groups"` // each layer's heads, and those of all layers
}

// HeadsGroup measures the subspaces that a group of heads writes to.
type HeadsGroup struct {
	Name       string `json:"name"` // "layer 3", "all layers"
	Heads      int    `json:"heads"`
	Dimensions int    `json:"dimensions"` // of the stream
	Ranks      int    `json:"ranks"`      // sum of the heads' ranks
	Rank       int    `json:"rank"`       // of the sum of the heads' subspaces
	// EffectiveRanks is the sum of the heads' effective ranks (Spectrum). EffectiveRank is the
	// effective rank of all that they write together, compared with heads of the same singular
	// values in random directions.
	EffectiveRanks float64    `json:"effective_ranks"`
	EffectiveRank  Controlled `json:"effective_rank"`
	// Overlap is the mean, over pairs of heads, of the mean squared cosine of their subspaces'
	// principal angles, next to its mean and deviation for random subspaces (randomOverlap).
	Overlap Controlled `json:"overlap"`
}

// FindHeadSpaces measures whether heads write to disjoint subspaces, from the weights alone. It
// compares them with the given number of draws of random directions: at least 2, for a deviation.
func FindHeadSpaces(ctx context.Context, store *graph.Store, spec models.Spec, draws int) (*HeadSpaces, error) {
	if err := check.AtLeast("draws", 2, draws); err != nil {
		return nil, err
	}
	f, err := Fold(store, spec)
	if err != nil {
		return nil, err
	}
	s := &HeadSpaces{Stream: spec.Stream.Name(), Draws: draws}
	var groups [][]writtenSpace
	var all []writtenSpace
	for l := range spec.Depth() {
		if l != spec.FirstPass(l) {
			continue // the same weights
		}
		heads, err := newWrittenSpaces(ctx, l, f.layerHeads(l))
		if err != nil {
			return nil, err
		}
		if err := s.addGroup(ctx, fmt.Sprintf("layer %d", l), heads); err != nil {
			return nil, err
		}
		groups, all = append(groups, heads), append(all, heads...)
	}
	if spec.Layers > 1 {
		if err := s.addGroup(ctx, "all layers", all); err != nil {
			return nil, err
		}
		groups = append(groups, all)
	}
	return s, s.compareWithDraws(ctx, groups)
}

// compareWithDraws fills in what the heads of each group write together, and the same for random
// directions. Each draw has its own random numbers.
func (s *HeadSpaces) compareWithDraws(ctx context.Context, groups [][]writtenSpace) error {
	each := 1 + s.Draws // the heads' own directions, and random ones
	effective := make([]float64, len(groups)*each)
	err := numerics.Concurrently(ctx, len(effective), func(i int) error {
		var draw *rand.Rand
		if i%each > 0 {
			draw = rand.New(rand.NewPCG(0, uint64(i)))
		}
		together, rank, err := writtenTogether(groups[i/each], draw)
		effective[i] = together.Effective
		if draw == nil {
			s.Groups[i/each].Rank = rank
		}
		return errors.Wrap(err, s.Groups[i/each].Name)
	})
	for i := range s.Groups {
		own := effective[i*each:][:each]
		s.Groups[i].EffectiveRank = controlled(own[0], own[1:])
	}
	return err
}

// writtenSpace is what one head writes: singular values, and orthonormal directions [rank, D] of
// those that are not 0.
type writtenSpace struct {
	rows       *mat.Dense // [Dh, D]
	singular   []float64
	rank       int
	directions *mat.Dense // nil: rank 0
}

// rankRounding is the largest ratio to the largest singular value at which a singular value counts
// as 0.
const rankRounding = 1e-7

// newWrittenSpaces returns what each head of a layer writes.
func newWrittenSpaces(ctx context.Context, layer int, heads []HeadWeights) ([]writtenSpace, error) {
	spaces := make([]writtenSpace, len(heads))
	return spaces, numerics.Concurrently(ctx, len(heads), func(h int) (err error) {
		spaces[h], err = newWrittenSpace(headName(layer, h), heads[h].O)
		return err
	})
}

func newWrittenSpace(name string, rows *mat.Dense) (writtenSpace, error) {
	w := writtenSpace{rows: rows}
	var svd mat.SVD
	if !numerics.Finite(rows) {
		return w, check.Value(name+": what it writes", "finite weights", "NaN or infinite ones")
	}
	if !svd.Factorize(rows, mat.SVDThin) {
		return w, check.Value(name+": what it writes", "singular values", "none that converge")
	}
	w.singular = svd.Values(nil)
	if w.rank = numericalRank(w.singular); w.rank > 0 {
		var v mat.Dense
		svd.VTo(&v)
		_, d := rows.Dims()
		w.directions = numerics.Transposed(v.Slice(0, d, 0, w.rank))
	}
	return w, nil
}

// numericalRank returns how many of the singular values, in descending order, do not count as 0.
func numericalRank(singular []float64) int {
	return floats.Count(func(v float64) bool { return v > rankRounding*singular[0] }, singular)
}

// turned returns rows with the same singular values along random orthonormal directions.
func (w writtenSpace) turned(draw *rand.Rand) *mat.Dense {
	n, d := w.rows.Dims()
	rows := numerics.OrthonormalRows(draw, min(n, d), d)
	for i, v := range w.singular {
		floats.Scale(v, rows.RawRowView(i))
	}
	return rows
}

// addGroup adds what can be computed from single heads of a group and from pairs of them.
func (s *HeadSpaces) addGroup(ctx context.Context, name string, heads []writtenSpace) error {
	_, d := heads[0].rows.Dims()
	overlap, err := overlapOfPairs(ctx, heads, d)
	g := HeadsGroup{Name: name, Heads: len(heads), Dimensions: d, Overlap: overlap}
	for _, w := range heads {
		g.Ranks += w.rank
		g.EffectiveRanks += newSpectrum(floats.MulTo(make([]float64, len(w.singular)), w.singular, w.singular), d).Effective
	}
	s.Groups = append(s.Groups, g)
	return err
}

// writtenTogether returns the spectrum and the rank of all that heads write together; with
// draw, after each head's directions are replaced by random ones.
func writtenTogether(heads []writtenSpace, draw *rand.Rand) (Spectrum, int, error) {
	_, d := heads[0].rows.Dims()
	gram, count := mat.NewDense(d, d, nil), 0
	for _, w := range heads {
		rows := w.rows
		if draw != nil {
			rows = w.turned(draw)
		}
		n, _ := rows.Dims()
		count += n
		gram.Add(gram, numerics.Mul(rows.T(), rows))
	}
	s, _, err := spectrumOfGram(gram, count)
	return s, numericalRank(s.Singular), err
}

// overlapOfPairs returns the mean overlap over pairs of heads, and its distribution for random
// subspaces. Overlaps of different pairs are uncorrelated, so the mean's variance is the mean
// variance over the number of pairs.
func overlapOfPairs(ctx context.Context, heads []writtenSpace, d int) (Controlled, error) {
	var pairs [][2]writtenSpace
	for i, a := range heads {
		for _, b := range heads[:i] {
			if a.rank > 0 && b.rank > 0 {
				pairs = append(pairs, [2]writtenSpace{a, b})
			}
		}
	}
	overlaps := make([]float64, len(pairs))
	err := numerics.Concurrently(ctx, len(pairs), func(i int) error {
		a, b := pairs[i][0], pairs[i][1]
		size := mat.Norm(numerics.Mul(a.directions, b.directions.T()), 2)
		overlaps[i] = size * size / float64(min(a.rank, b.rank))
		return nil
	})
	random, variance, n := 0.0, 0.0, float64(len(pairs))
	for _, p := range pairs {
		mean, deviation := randomOverlap(p[0].rank, p[1].rank, d)
		random, variance = random+mean, variance+deviation*deviation
	}
	return Controlled{numerics.Ratio(floats.Sum(overlaps), n), numerics.Ratio(random, n), numerics.Ratio(math.Sqrt(variance), n)}, err
}

// Table lists the groups.
func (s *HeadSpaces) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("do heads write to disjoint subspaces? random: the same singular values along random directions, %d draws", s.Draws),
		"lrrrrrrrrr",
		"heads of", "dimensions", "sum of ranks", "rank of the sum", "sum of effective ranks", "effective rank of the sum", "random", "overlap of two", "random",
		"deviations")
	t.Note = "sum of ranks, and rank of the sum: of each head's subspace, and of all together; equal where no two touch.\n" +
		"effective rank: how many directions are used, weighted by how much. overlap of two: the mean squared cosine\n" +
		"of two heads' subspaces, from 0 to 1; deviations: how far it is above that of random subspaces, in standard\n" +
		"deviations."
	for _, g := range s.Groups {
		t.Row(g.Name, g.Dimensions, g.Ranks, g.Rank, g.EffectiveRanks, g.EffectiveRank.Own,
			numerics.PlusMinus(g.EffectiveRank.Rotated, g.EffectiveRank.Deviation), g.Overlap.Own, g.Overlap.Rotated, g.Overlap.deviations())
	}
	return t
}

// deviations returns how many standard deviations the measure lies above the controls' mean; 0
// without a deviation.
func (c Controlled) deviations() float64 {
	return numerics.Ratio(c.Own-c.Rotated, c.Deviation)
}

// Figures are the effective ranks and the overlaps.
func (s *HeadSpaces) Figures() []figure.Figure {
	ranks := figure.NewBars("Effective rank of what heads write together", "dimensions", "sum of the heads'", "together", "together, random directions")
	overlaps := figure.NewBars("Mean squared cosine of two heads' written subspaces", "0: orthogonal, 1: the same", "model", "random subspaces")
	for _, g := range s.Groups {
		ranks.AddGroup(g.Name, g.EffectiveRanks, g.EffectiveRank.Own, g.EffectiveRank.Rotated)
		overlaps.AddGroup(g.Name, g.Overlap.Own, g.Overlap.Rotated)
	}
	return []figure.Figure{ranks, overlaps}
}
