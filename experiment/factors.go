package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/models"
)

// tokensKey is the key of a run config that a curve's sweep varies.
const tokensKey = "train.tokens"

// curve lists how many tokens a baseline needs for a loss, T_base(L), in falling order of the loss.
type curve []struct{ loss, tokens float64 }

// factor returns how many times tokens the baseline needs for a loss, T_base(L) / tokens,
// interpolating log tokens linearly over the loss. It does not extrapolate: outside the curve,
// factor is the value at the curve's end, and bound is "> " if the baseline stays above that loss
// with all its tokens, "< " if it is below that loss already with its fewest. An empty curve gives
// NaN.
func (c curve) factor(loss, tokens float64) (factor float64, bound string) {
	if len(c) == 0 || math.IsNaN(loss) {
		return math.NaN(), ""
	}
	first, last := c[0], c[len(c)-1]
	switch {
	case loss > first.loss:
		return first.tokens / tokens, "< "
	case loss < last.loss:
		return last.tokens / tokens, "> "
	}
	i := 1
	for i < len(c)-1 && c[i].loss > loss {
		i++
	}
	left, right := c[max(0, i-1)], c[min(i, len(c)-1)]
	part := 0.
	if left.loss > right.loss {
		part = (left.loss - loss) / (left.loss - right.loss)
	}
	return left.tokens / tokens * math.Pow(right.tokens/left.tokens, part), ""
}

// curves returns T_base for each series of the sweep over train.tokens in the config that Curve
// names, from its log.
func (s Cards) curves(zoo models.Zoo) (map[string]curve, error) {
	if s.Curve == "" {
		return nil, nil
	}
	results, err := resultsOf(zoo, s.Curve)
	if err != nil {
		return nil, err
	}
	if sweep, ok := results.plan.Config.Kind.(Sweep); !ok || sweep.Key != tokensKey {
		return nil, errors.Errorf("%s: want a sweep over %s", s.Curve, tokensKey)
	}
	all := map[string]curve{}
	for _, cell := range results.cells {
		if loss := cell.loss(); len(cell.todo) == 0 && !math.IsNaN(loss) {
			all[cell.series] = append(all[cell.series], struct{ loss, tokens float64 }{loss, float64(cell.runs[0].Tokens)})
		}
	}
	return all, nil
}

// resultsOf returns the completed runs of the experiment whose config is the given file, from its
// log.
func resultsOf(zoo models.Zoo, file string) (*Results, error) {
	c, err := Load(Kinds(zoo), file, nil)
	if err != nil {
		return nil, err
	}
	plan, err := c.Plan(context.Background(), zoo, strings.TrimSuffix(file, filepath.Ext(file)))
	if err != nil {
		return nil, err
	}
	if _, err := plan.readLog(); err != nil {
		return nil, err
	}
	results, _, _, err := plan.results()
	return results, err
}

// with returns the curve with the baseline's cell as one more point.
func (c curve) with(base Result) curve {
	if loss := base.loss(); !math.IsNaN(loss) {
		c = append(slices.Clone(c), struct{ loss, tokens float64 }{loss, float64(base.runs[0].Tokens)})
	}
	slices.SortFunc(c, func(a, b struct{ loss, tokens float64 }) int { return cmp.Compare(b.loss, a.loss) })
	return c
}

// factors returns the columns Sc and Sw of a card's cell. Sc is how many times the cell's
// tokens the baseline needs to reach the cell's loss. Sw is Sc times the cell's speed relative
// to the baseline, the ratio of the baseline's step time to its own. An unknown value is "-".
func (c card) factors(cell Result, of curve, measured []bench.DesignResult) (sc, sw string) {
	if len(cell.runs) == 0 || len(cell.todo) > 0 {
		return "-", "-"
	}
	factor, bound := of.factor(cell.loss(), float64(cell.runs[0].Tokens))
	if math.IsNaN(factor) {
		return "-", "-"
	}
	sc, sw = fmt.Sprintf("%s%.2f", bound, factor), "-"
	i := slices.IndexFunc(measured, func(r bench.DesignResult) bool { return r.Name == c.preset && c.measuredIn(r) && r.Time > 0 })
	if i >= 0 {
		sw = fmt.Sprintf("%s%.2f", bound, factor/measured[i].Time)
	}
	return sc, sw
}
