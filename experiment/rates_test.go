package experiment

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/internal/longtest"
)

func TestRates(t *testing.T) {
	var rates []float64
	for k := -5; k <= 6; k++ {
		rates = append(rates, rateAt(k))
		for _, near := range []float64{0.8, 1, 1.2} {
			assert.Equal(t, k, rungOf(near*rateAt(k)))
		}
	}
	assert.Equal(t, []float64{0.000056, 0.0001, 0.00018, 0.00032, 0.00056, 0.001, 0.0018, 0.0032, 0.0056, 0.01, 0.018, 0.032}, rates)
}

// climbed is a search to its end, and how many rates it tried. The loss has its minimum at a rate;
// above ten times that it diverges.
func climbed(start int, minimum float64) (l ladder, tried int) {
	l = ladder{start, map[int]float64{}}
	for rungs := l.next(); len(rungs) > 0; rungs = l.next() {
		for _, rung := range rungs {
			x := math.Log(rateAt(rung) / minimum)
			l.losses[rung] = 3 + x*x
			if x > math.Log(10) {
				l.losses[rung] = math.NaN()
			}
			tried++
		}
	}
	return l, tried
}

// TestTheBestRateLiesInside: wherever the minimum is, the neighbours of the rate that is found were
// tried and are worse, and no rate is tried twice.
func TestTheBestRateLiesInside(t *testing.T) {
	for k := -7; k <= 7; k++ {
		l, tried := climbed(0, rateAt(k))
		best, found := l.best()
		assert.True(t, found && l.inside())
		assert.Equal(t, k, best)
		assert.Equal(t, 3+max(k, -k), tried, "0.001, its neighbours, and those up to the one beyond the best")
		assert.Len(t, l.losses, tried)
	}
}

// TestTheEndOfTheLadder: a best rate at the end of what may be tried is not inside; where all
// diverge there is none.
func TestTheEndOfTheLadder(t *testing.T) {
	l, _ := climbed(3, rateAt(-7))
	best, found := l.best()
	assert.True(t, found && !l.inside())
	assert.Equal(t, 3-mostRungs, best)

	l, _ = climbed(12, 1e9)
	best, _ = l.best()
	assert.Equal(t, 10.0, rateAt(best), "the greatest rate that a run takes")

	l, tried := climbed(0, 1e-9)
	_, found = l.best()
	assert.False(t, found || l.inside())
	assert.Equal(t, 2+mostRungs, tried, "the first, the one above it and those below it")
}

const bracketed = "seeds: 3\nrates: bracket\nseries: [{name: a, set: [train.lr=0.0011]}, {name: b, set: [train.lr=0.9]}]\nexperiment: {kind: variants}"

// TestBracket: every series has runs at its best rate, with all seeds, and at the rates next to it;
// how many run side by side changes no run, and a call that ends early goes on.
func TestBracket(t *testing.T) {
	c := parsed(t, strings.Replace(bracketed, "0.9", "0.0018", 1))
	c.Set = append(c.Set, "train.steps=2")
	p := settled(t, c, t.TempDir())
	predicted, err := p.Predict(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, 10, predicted.Runs, "three rates and two further seeds, each")
	log, notes := trained(t, p, Options{Jobs: 3})
	assert.Contains(t, notes, "a-lr0.001-seed0 begins: 2 steps")
	for _, cell := range p.cells {
		s, err := cell.state()
		require.NoError(t, err)
		require.Len(t, s.runs, 3)
		require.Empty(t, s.todo)
		for _, r := range s.runs {
			assert.Equal(t, s.runs[0].Rate, r.Rate)
		}
		for _, r := range s.tried {
			assert.GreaterOrEqual(t, r.Loss, s.runs[0].Loss)
			assert.Zero(t, r.Seed)
		}
		assert.True(t, s.inside || s.runs[0].Rate == rateAt(rungOf(cell.first.Run.Train.LR)+mostRungs), "inside, or at the end")
	}
	if !longtest.Enabled() {
		return
	}
	rest := settled(t, c, t.TempDir())
	trained(t, rest, Options{Only: []string{"b"}})
	apart, _ := trained(t, rest, Options{})
	require.Len(t, apart, len(log))
	for name, r := range log {
		assert.Equal(t, r.Loss, apart[name].Loss, name)
	}
}

// TestBracketInReports: a report takes the runs at the best rate, and says what was tried and what
// is not finished.
func TestBracketInReports(t *testing.T) {
	l := newLines(t, bracketed)
	at := func(series string, rate float64, seed uint64, loss float64) Record {
		return Record{Series: series, Rate: rate, Seed: seed, Loss: eval.Number(loss), Bits: eval.Number(loss)}
	}
	log := []Record{at("a", 0.001, 0, 3), at("a", 0.00056, 0, 4), at("a", 0.0018, 0, math.NaN()), at("a", 0.001, 1, 3.1), at("a", 0.001, 2, 2.9),
		at("b", 1, 0, 5), at("b", 0.56, 0, 4)}
	r := l.Report(log)
	assert.Equal(t, []int{7, 10}, []int{r.Done, r.Runs}, "b wants 1.8, and then two seeds at least")
	text := r.Text()
	assert.Regexp(t, `\na .* 3 +3\.0000 ± 0\.0577 `, text)
	assert.Regexp(t, `\na +0\.001 +yes +4\.000 at 0\.00056, 3\.000 at 0\.001, - at 0\.0018\n`, text)
	assert.Regexp(t, `\nb +0\.56 +not yet +4\.000 at 0\.56, 5\.000 at 1\n`, text)
	assert.Contains(t, text, "7 of 10 runs are complete.")

	log = append(log[:5:5], at("b", 1.8, 0, math.NaN()), at("b", 1, 0, math.NaN()))
	for rung := rungOf(1) - 1; rung >= rungOf(1)-mostRungs; rung-- {
		log = append(log, at("b", rateAt(rung), 0, math.NaN()))
	}
	r = l.Report(log)
	assert.Equal(t, r.Runs, r.Done, "where all diverge there is nothing to be made")
	assert.Regexp(t, `\nb .* 1, 1 diverged +- +-\n`, r.Text())
	assert.Regexp(t, `\nb +- +no: at the end of what is tried +- at 0\.01,`, r.Text(), "no rate is the best")
}

// TestFreshSeeds: with first_seed: 1 the runs of seed 0, which choose the rate, are in no score,
// and seeds_of gives a series another number of seeds.
func TestFreshSeeds(t *testing.T) {
	l := newLines(t, "seeds: 2\nfirst_seed: 1\nseeds_of: {b: 3}\n"+strings.Replace(bracketed, "seeds: 3\n", "", 1))
	at := func(series string, rate float64, seed uint64, loss float64) Record {
		return Record{Series: series, Rate: rate, Seed: seed, Loss: eval.Number(loss), Bits: eval.Number(loss)}
	}
	log := []Record{at("a", 0.001, 0, 3), at("a", 0.00056, 0, 4), at("a", 0.0018, 0, 5), at("a", 0.001, 1, 7), at("a", 0.001, 2, 9), at("b", 1, 0, 5)}
	r := l.Report(log)
	assert.Equal(t, []int{6, 11}, []int{r.Done, r.Runs}, "3 rates and 2 seeds of a, 3 rates and 3 seeds of b")
	text := r.Text()
	assert.Regexp(t, `\na .* 2 +8\.0000 ± 1\.0000 `, text)
	assert.Regexp(t, `\nb +1 +not yet +5\.000 at 1\n`, text)
	assert.NotRegexp(t, `\nb .* ± `, text)
}

// TestFirstSeed: without a search of rates the seeds begin with the first.
func TestFirstSeed(t *testing.T) {
	p := settled(t, parsed(t, "seeds: 2\nfirst_seed: 5\nseries: [{name: a}]\nexperiment: {kind: variants}"), t.TempDir())
	todo, err := p.todo()
	require.NoError(t, err)
	require.Len(t, todo, 2)
	assert.Equal(t, []uint64{5, 6}, []uint64{todo[0].Seed, todo[1].Seed})
	assert.Equal(t, []string{"a-seed5", "a-seed6"}, []string{todo[0].Name, todo[1].Name})
}
