package analysis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// HeadScores measures what heads do on random tokens that repeat (Olsson et al. 2022, "In-context
// Learning and Induction Heads", "prefix matching"): with rows [r, r] of r random tokens each,
//
//	induction = mean over i in the second half of pattern[i, i - len(r) + 1]
//	previous  = mean over i >= 1 of pattern[i, i - 1]
//
// An induction head attends to what followed this token the last time; a previous-token
// head, one layer below or more, is what it composes with.
type HeadScores struct {
	Induction [][]float64 `json:"induction"` // [layer][head]
	Previous  [][]float64 `json:"previous"`  // [layer][head]
	Period    int         `json:"period"`    // len(r)
	Rows      int         `json:"rows"`      // sequences in the mean
}

// Chance returns the scores of a head that attends evenly to all tokens up to its own: the means of
// 1/(i+1) over the same tokens i as the scores.
func (s *HeadScores) Chance() (induction, previous float64) {
	for i := 1; i < 2*s.Period; i++ {
		alike := 1 / float64(i+1)
		previous += alike / float64(2*s.Period-1)
		if i >= s.Period {
			induction += alike / float64(s.Period)
		}
	}
	return induction, previous
}

// InductionScores measures the heads of a model on rows of period random tokens, drawn from the
// seed and repeated once. BOS and the separator are not drawn if they mask the tokens before them.
func InductionScores(ctx context.Context, store *graph.Store, spec models.Spec, period, rows int, seed uint64) (*HeadScores, error) {
	if period < 2 || rows < 1 {
		return nil, check.Value("induction", "a period of at least 2 tokens and a row", fmt.Sprintf("%d and %d", period, rows))
	}
	ids := RepeatedTokens(spec.Vocab, period, rows, seed)
	masks := func(id int32) bool { return int(id) == spec.BOS || spec.Separator > 0 && int(id) == spec.Separator }
	for i := range ids {
		for range 2 { // the next id may be the other one
			if spec.MaskDocuments && masks(ids[i]) {
				ids[i] = (ids[i] + 1) % int32(spec.Vocab)
			}
		}
	}
	return headScoresOn(ctx, store, spec, ids, rows)
}

// RepeatedTokens draws rows of [r, r], r being period tokens below vocab, so that each row has
// 2*period ids. It returns nil unless vocab, period and rows are above 0.
func RepeatedTokens(vocab, period, rows int, seed uint64) []int32 {
	if vocab < 1 {
		return nil
	}
	draw := rand.New(rand.NewPCG(seed, uint64(period)))
	var ids []int32
	for range rows {
		start := len(ids)
		for range period {
			ids = append(ids, int32(draw.IntN(vocab)))
		}
		ids = append(ids, ids[start:]...)
	}
	return ids
}

// headScoresOn measures the heads on given rows, each of which repeats its first half.
func headScoresOn(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, rows int) (*HeadScores, error) {
	if rows < 1 || len(ids) == 0 || len(ids)%(2*rows) != 0 {
		return nil, check.Valuef("induction", fmt.Sprintf("%d tokens", len(ids)), "%d rows of two halves", rows)
	}
	r, err := cache.New(store, spec, cache.Options{Names: []string{"blocks.*.attention.pattern"}, Batch: rows, Seq: len(ids) / rows})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	run, err := r.Run(ids)
	if err != nil {
		return nil, err
	}
	scores := &HeadScores{Period: run.Seq / 2, Rows: rows}
	for l := range run.Model().Spec().Depth() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scores.addLayer(run, l)
	}
	return scores, nil
}

// addLayer appends the scores of a layer's heads.
func (s *HeadScores) addLayer(run *cache.Cache, layer int) {
	heads := run.Model().Spec().HeadCount()
	induction, previous := make([]float64, heads), make([]float64, heads)
	for row := range s.Rows {
		p, _ := patternsOf(run, layer, row) // which the run has kept
		for h, pattern := range p.Patterns {
			for i := 1; i < run.Seq; i++ {
				previous[h] += pattern[i][i-1] / float64(s.Rows*(run.Seq-1))
				if i >= s.Period {
					induction[h] += pattern[i][i-s.Period+1] / float64(s.Rows*s.Period)
				}
			}
		}
	}
	s.Induction, s.Previous = append(s.Induction, induction), append(s.Previous, previous)
}

// Strongest returns the head with the highest induction score.
func (s *HeadScores) Strongest() (layer, head int, score float64) {
	for l, heads := range s.Induction {
		for h, v := range heads {
			if v > score {
				layer, head, score = l, h, v
			}
		}
	}
	return layer, head, score
}

// Table lists all heads.
func (s *HeadScores) Table() figure.Table {
	induction, previous := s.Chance()
	t := figure.NewTable(fmt.Sprintf("heads on %d random tokens, repeated", s.Period), "lrr",
		"head", "induction", "previous token")
	t.Note = "induction: the mean attention to the token that followed this one the last time; previous token: to the\n" +
		"token before. Both from 0 to 1; " + fmt.Sprintf("a head that attends to all tokens alike has %.2g and %.2g.", induction, previous)
	for l := range s.Induction {
		for h := range s.Induction[l] {
			t.Row(headName(l, h), s.Induction[l][h], s.Previous[l][h])
		}
	}
	return t
}

// Figures map both scores.
func (s *HeadScores) Figures() []figure.Figure {
	return []figure.Figure{
		figure.Heatmap{Title: "Induction score", XLabel: "head", YLabel: "layer", Values: s.Induction, Limits: unit()},
		figure.Heatmap{Title: "Previous-token score", XLabel: "head", YLabel: "layer", Values: s.Previous, Limits: unit()},
	}
}
