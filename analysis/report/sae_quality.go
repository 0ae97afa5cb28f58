package report

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/analysis/sae"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Quality says how well an SAE does on a text.
type Quality struct {
	sae.Config
	Tokens    int     `json:"tokens"`
	Explained float64 `json:"explained_variance"` // 1 - |want - y|^2 / |want - its mean|^2, over tokens
	Active    float64 `json:"active"`             // features of a token, on average
	Dead      int     `json:"dead"`               // features that no token has
	Loss      float64 `json:"loss"`               // of the next token, nats
	Replaced  float64 `json:"loss_replaced"`      // with y instead of the activation
	Ablated   float64 `json:"loss_ablated"`       // with 0 instead of it
	Recovered float64 `json:"loss_recovered"`     // (Ablated - Replaced) / (Ablated - Loss)
}

// measure runs a model and an SAE on rows, and calls each with the features [tokens, Features] of
// every row. Shorter rows are filled up with tokens that their own do not see. It also returns the
// activation that the SAE is to compute, as it is in the last row.
func measure(ctx context.Context, m *Model, s *sae.SAE, rows []corpus.Row, each func(row corpus.Row, features []float64)) (*Quality, cache.Activation, error) {
	var of cache.Activation
	seq := 0
	for _, row := range rows {
		seq = max(seq, len(row.IDs))
	}
	if seq < 2 {
		return nil, of, check.Value("rows", "one of at least 2 tokens, so that one has a successor", seq)
	}
	names := s.Names()
	to := names[len(names)-1]
	r, err := cache.New(m.Store, m.Spec, cache.Options{Names: names, Seq: seq})
	if err != nil {
		return nil, of, err
	}
	defer r.Close()
	encoder, err := s.Open(seq)
	if err != nil {
		return nil, of, err
	}
	defer encoder.Close()
	q, alive := &Quality{Config: s.Config}, make([]bool, s.Features)
	mean, square, rest, predicted := make([]float64, s.Out), 0.0, 0.0, 0.0
	for i, row := range rows {
		n := len(row.IDs)
		ids := append(slices.Clone(row.IDs), make([]int32, seq-n)...)
		run, err := r.Run(ids)
		if err != nil {
			return nil, of, err
		}
		x, _ := run.Get(names[0]) // which are kept
		of, _ = run.Get(to)
		if len(of.Values) != seq*s.Out {
			return nil, of, check.Valuef(to, len(of.Values)/seq, "an activation of %d entries a token", s.Out)
		}
		features, y, err := encoder.Run(x.Values)
		if err != nil {
			return nil, of, err
		}
		features, of.Values = features[:n*s.Features], of.Values[:n*s.Out]
		q.Tokens, predicted = q.Tokens+n, predicted+float64(n-1)
		for j, v := range of.Values {
			mean[j%s.Out] += v
			square += v * v
			rest += (v - y[j]) * (v - y[j])
		}
		for j, f := range features {
			if f > 0 {
				alive[j%s.Features] = true
				q.Active++
			}
		}
		q.Loss += lossOf(run, n)
		for sum, change := range map[*float64]cache.Intervention{&q.Replaced: cache.Set(to, nil, y), &q.Ablated: cache.Ablate(to, nil)} {
			changed, err := r.Run(ids, change)
			if err != nil {
				return nil, of, err
			}
			*sum += lossOf(changed, n)
		}
		if each(row, features); ctx.Err() != nil {
			return nil, of, ctx.Err()
		}
		m.done(i+1, len(rows))
	}
	tokens := float64(q.Tokens)
	q.Explained = 1 - rest/(square-floats.Dot(mean, mean)/tokens)
	q.Active, q.Loss, q.Replaced, q.Ablated = q.Active/tokens, q.Loss/predicted, q.Replaced/predicted, q.Ablated/predicted
	q.Recovered = numerics.Ratio(q.Ablated-q.Replaced, q.Ablated-q.Loss)
	for _, is := range alive {
		if !is {
			q.Dead++
		}
	}
	return q, of, nil
}

// lossOf sums the losses of the tokens that follow each of a row's first n tokens but the last.
func lossOf(run *cache.Cache, n int) (sum float64) {
	for t := range n - 1 {
		logits, _ := run.TokenLogits(t) // which the run has
		sum += floats.LogSumExp(logits) - logits[run.IDs[t+1]]
	}
	return sum
}

// Table shows the quality.
func (q *Quality) Table() figure.Table {
	t := figure.NewTable(string(q.Architecture)+" of "+q.Metadata.Name+", over "+figure.Thousands(int64(q.Tokens))+" tokens", "lr", "what", "is")
	t.Note = "explained variance: 1 minus the squared error as a share of the squared distance from the mean. dead: features that no token of these has.\n" +
		"loss recovered: of what setting the activation to 0 costs, the share that what the autoencoder makes of it does not cost."
	t.Row("features", q.Features)
	t.Row("dead", q.Dead)
	t.Row("active features a token", q.Active)
	t.Row("explained variance", q.Explained)
	t.Row("loss, nats a token", q.Loss)
	t.Row("with what it makes of the activation", q.Replaced)
	t.Row("with 0 in its place", q.Ablated)
	t.Row("loss recovered", q.Recovered)
	return t
}
