package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/stats"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Directions are directions of an activation along which its entries are sparse: most of them near
// 0 and a few large, as features would be that a model represents one by one (Elhage et al. 2021
// leave the search for such a basis of the residual stream open). They are found on half of the
// tokens by independent component analysis (fastICA on the leading principal directions) and
// measured on the other half, where they are compared with random directions of the same whitened
// space, with the principal directions, and with the activation's own entries. A Gaussian has a
// kurtosis of 3; the larger it is, the sparser.
type Directions struct {
	Activation string `json:"activation"`
	Entries    int    `json:"entries"` // of a token
	Tokens     int    `json:"tokens"`  // on which directions are found; as many are measured on
	Steps      int    `json:"steps"`   // of the search
	Converged  bool   `json:"converged"`

	// ShareByChance is the mean TokenShare.All of values that are unrelated to the tokens.
	ShareByChance float64 `json:"token_share_by_chance"`

	Found     []Direction `json:"found"` // sparsest first
	Random    []float64   `json:"random_kurtosis"`
	Principal []float64   `json:"principal_kurtosis"`
	Own       []float64   `json:"own_kurtosis"`

	RandomShare    TokenShare `json:"random_token_share"` // means over directions
	PrincipalShare TokenShare `json:"principal_token_share"`
	OwnShare       TokenShare `json:"own_token_share"`
}

// TokenShare says how much of a direction's variance is explained by the token at which it is read.
type TokenShare struct {
	All float64 `json:"all"` // explained by the token's identity
	One float64 `json:"one"` // explained by whether it is the one token that explains most: a squared correlation
}

// Direction is one of the directions found.
type Direction struct {
	Kurtosis float64    `json:"kurtosis"` // over the tokens on which the direction was not searched for
	Found    float64    `json:"kurtosis_found"`
	Token    TokenShare `json:"token_share"`
	Filter   []float64  `json:"filter"` // [Entries]: its inner product with an activation minus the mean is the direction's entry
	Examples []Example  `json:"examples"`
}

// Example is a token at which a direction's entry is largest.
type Example struct {
	Row   int     `json:"row"`
	Token int     `json:"token"`
	Value float64 `json:"value"` // in standard deviations
}

// DirectionsOptions say where to look for directions, and for how many.
type DirectionsOptions struct {
	Name  string `yaml:"name" help:"look at activation <NAME>; without, the stream after the last sublayer of the middle block"`
	Count int    `yaml:"count" min:"0" max:"1000000" help:"find <N> directions, in the leading principal ones; 0: 32, or as many as there is text for"`
	Seed  uint64 `yaml:"seed" default:"1" help:"seed the start of the search and the random directions with <N>"`
}

// examplesShown is the number of tokens listed for a direction.
const examplesShown = 5

// tokensPerDirection is the smallest number of tokens that a search needs for each direction.
const tokensPerDirection = 8

// FindDirections looks for sparse directions of an activation on rows of tokens. Every stream has
// this analysis.
func FindDirections(ctx context.Context, store *graph.Store, spec models.Spec, rows [][]int32, o DirectionsOptions) (*Directions, error) {
	if len(rows) == 0 {
		return nil, check.NoPrompt()
	}
	if o.Count < 0 {
		return nil, check.Value("count", "at least 1, or 0 for 32", o.Count)
	}
	s := &samples{name: o.Name}
	if s.name == "" {
		known, err := cache.Names(store, spec)
		if err != nil {
			return nil, err
		}
		s.name = middleStream(known)
	}
	for i, ids := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run, err := cache.Once(store, spec, ids, s.name)
		if err != nil {
			return nil, err
		}
		if err := s.add(run, i, ids); err != nil {
			return nil, err
		}
	}
	half := len(s.at) / 2
	if o.Count == 0 {
		o.Count = max(1, min(32, half/tokensPerDirection))
	}
	if half < tokensPerDirection*o.Count {
		return nil, check.Valuef("tokens", len(s.at), "at least %d for %d directions, half to find them and half to measure them", 2*tokensPerDirection*o.Count,
			o.Count)
	}
	return s.search(o)
}

// middleStream returns the name of the stream in the middle of the model.
func middleStream(known []string) string {
	streams := streamNames(known)
	return streams[len(streams)/2]
}

// samples returns an activation's values, one row for each token.
type samples struct {
	name   string
	size   int
	values []float64 // [N, size]
	at     []Example // where each is from
	ids    []int32
}

func (s *samples) add(run *cache.Cache, row int, ids []int32) error {
	a, err := run.Get(s.name)
	if err != nil {
		return err
	}
	if err := checkFinite(s.name, a.Values); err != nil {
		return err
	}
	if a.Axes[0] != graph.TokenAxis {
		return check.Value("name", "an activation of each token", fmt.Sprintf("%s of axes %v", s.name, a.Axes))
	}
	s.size = len(a.Values) / a.Shape[0]
	s.values = append(s.values, a.Values...)
	for t := range a.Shape[0] {
		s.at, s.ids = append(s.at, Example{Row: row, Token: t}), append(s.ids, ids[t])
	}
	return nil
}

// search finds directions on the first half of the tokens, and measures them on the second.
func (s *samples) search(o DirectionsOptions) (*Directions, error) {
	half := len(s.at) / 2
	all := mat.NewDense(len(s.at), s.size, s.values)
	found, rest := all.Slice(0, half, 0, s.size).(*mat.Dense), all.Slice(half, 2*half, 0, s.size).(*mat.Dense)
	w, ok := numerics.Whiten(found, o.Count)
	if !ok {
		return nil, check.Value(s.name, "entries that vary", "the same at all tokens")
	}
	draw := rand.New(rand.NewPCG(o.Seed, 1))
	z, measured := w.Of(found), w.Of(rest)
	d := &Directions{Activation: s.name, Entries: s.size, Tokens: half, Principal: kurtoses(measured), Own: kurtoses(rest)}
	_, k := z.Dims()
	ids := s.ids[half : 2*half]
	random := numerics.Mul(measured, numerics.UniformOrthogonal(k, draw).T())
	d.Random, d.ShareByChance = kurtoses(random), sharedByChance(ids)
	d.RandomShare, d.PrincipalShare, d.OwnShare = meanShare(random, ids), meanShare(measured, ids), meanShare(rest, ids)
	turn, steps, converged := numerics.FastICA(z, draw)
	d.Steps, d.Converged = steps, converged
	before, after := kurtoses(numerics.Mul(z, turn.T())), numerics.Mul(measured, turn.T())
	filters := numerics.Mul(w.To, turn.T()) // [D, K]
	for j := range k {
		entries := mat.Col(nil, j, after)
		d.Found = append(d.Found, Direction{Kurtosis: Kurtosis(entries), Found: before[j], Token: tokenShare(entries, ids), Filter: mat.Col(nil, j, filters),
			Examples: s.largest(entries, half)})
	}
	slices.SortStableFunc(d.Found, func(a, b Direction) int { return cmp.Compare(b.Kurtosis, a.Kurtosis) })
	return d, nil
}

// kurtoses returns the columns' kurtoses.
func kurtoses(x *mat.Dense) []float64 {
	_, k := x.Dims()
	var all []float64
	for j := range k {
		all = append(all, Kurtosis(mat.Col(nil, j, x)))
	}
	return all
}

// largest returns the tokens whose entries lie farthest from the mean of all, on the side of
// the farthest one. The first of the entries belongs to sample number first.
func (s *samples) largest(entries []float64, first int) []Example {
	mean, deviation := stat.MeanStdDev(entries, nil)
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	sign := 1.0
	if -(floats.Min(entries) - mean) > floats.Max(entries)-mean {
		sign = -1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sign*entries[b], sign*entries[a]) })
	var examples []Example
	for _, i := range order[:min(examplesShown, len(order))] {
		e := s.at[first+i]
		if e.Value = (entries[i] - mean) / deviation; math.IsNaN(e.Value) {
			e.Value = 0
		}
		examples = append(examples, e)
	}
	return examples
}

// Table compares the directions that were found with the others. Of n directions that are like the
// m random ones n/(m+1) are expected to be sparser than all of these.
func (d *Directions) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("sparse directions of %s: kurtosis on %d tokens that they were not found on (3 is a Gaussian's)", d.Activation, d.Tokens),
		"lrrrrrrrr",
		"directions", "how many", "mean", "median", "largest", "sparser than every random one", "by chance", "told by the token", "by one token")
	t.Note = "told by the token: the share of the variance along a direction that goes by which token it is, a mean over\n" +
		fmt.Sprintf("the directions; of values that know nothing of tokens %.2g. by one token: the largest share that goes by\n", d.ShareByChance) +
		"whether it is one certain token."
	most := floats.Max(d.Random)
	for _, row := range d.lists() {
		sorted := slices.Sorted(slices.Values(row.kurtosis))
		above := 0
		for _, v := range sorted {
			if v > most {
				above++
			}
		}
		var chance any = ""
		if row.name != "random" {
			chance = float64(len(sorted)) / float64(len(d.Random)+1)
		}
		t.Row(row.name, len(sorted), stat.Mean(sorted, nil), stats.Median(sorted), sorted[len(sorted)-1], above, chance, row.share.All, row.share.One)
	}
	return t
}

// kurtosisList is the kurtosis of several directions.
type kurtosisList struct {
	name     string
	kurtosis []float64
	share    TokenShare
}

// lists returns the kurtoses of the found directions and of the others.
func (d *Directions) lists() []kurtosisList {
	var found []float64
	var share TokenShare
	for _, x := range d.Found {
		found = append(found, x.Kurtosis)
		share.add(x.Token, len(d.Found))
	}
	return []kurtosisList{
		{"found", found, share}, {"random", d.Random, d.RandomShare}, {"principal", d.Principal, d.PrincipalShare}, {"own entries", d.Own, d.OwnShare},
	}
}

// Figures plots the kurtoses, sparsest first.
func (d *Directions) Figures() []figure.Figure {
	l := figure.Lines{Title: "Kurtosis of " + d.Activation + " along directions, sparsest first", XLabel: "rank, of all", YLabel: "kurtosis", LogY: true}
	for _, row := range d.lists() {
		s := figure.Series{Name: row.name}
		sorted := slices.Sorted(slices.Values(row.kurtosis))
		slices.Reverse(sorted)
		for i, v := range sorted {
			s.Add(float64(i)/float64(len(sorted)), v)
		}
		l.Series = append(l.Series, s)
	}
	return []figure.Figure{l}
}

// tokenShare returns the shares of the variance of entries that the tokens explain: the variance of
// the means of each token's entries.
func tokenShare(entries []float64, ids []int32) (s TokenShare) {
	n, mean := float64(len(entries)), stat.Mean(entries, nil)
	sums, counts, all := map[int32]float64{}, map[int32]float64{}, 0.0
	for i, v := range entries {
		sums[ids[i]] += v - mean
		counts[ids[i]]++
		all += (v - mean) * (v - mean)
	}
	if all == 0 {
		return s
	}
	for _, id := range ids {
		between := sums[id] * sums[id] / counts[id] / all
		s.All += between / counts[id] // each of a token's entries adds its part, in their order
		if n > counts[id] {
			s.One = max(s.One, between*n/(n-counts[id]))
		}
	}
	return s
}

// meanShare returns the mean of the columns' shares.
func meanShare(x *mat.Dense, ids []int32) (mean TokenShare) {
	_, k := x.Dims()
	for j := range k {
		mean.add(tokenShare(mat.Col(nil, j, x), ids), k)
	}
	return mean
}

// add adds one of n shares to a mean.
func (s *TokenShare) add(t TokenShare, n int) {
	s.All += t.All / float64(n)
	s.One += t.One / float64(n)
}

// sharedByChance returns the share of the variance that the token explains, as a mean over all
// orders of the entries: (different tokens - 1) / (tokens - 1).
func sharedByChance(ids []int32) float64 {
	kinds := map[int32]bool{}
	for _, id := range ids {
		kinds[id] = true
	}
	return float64(len(kinds)-1) / float64(max(1, len(ids)-1))
}
