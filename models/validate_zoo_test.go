package models_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// badLoops returns refused configs of loops.
func badLoops() []refusal {
	return []refusal{
		{"loops", "want >= 1, got -1", tinyVector(looped(2, 0, 2, -1))},
		{"loops", "want how many times tokens pass blocks 0 to 1, got nothing", tinyVector(looped(3, 0, 2, 0))},
		{"loop_begin", "want one of the blocks, 0 to 1, got 2", tinyVector(looped(2, 2, 3, 2))},
		{"loop_begin", "want one of the blocks, 0 to 1, got -1", tinyVector(looped(2, -1, 1, 2))},
		{"loop_end", "want the block after the loop's last, 2 to 3, got 1", tinyVector(looped(3, 1, 1, 2))},
		{"loop_end", "want the block after the loop's last, 1 to 2, got 3", tinyVector(looped(2, 0, 3, 1))},
		{"loops", "want at most 4096 blocks on a token's way, got 4096 times 2 of 2: set loops lower", tinyVector(looped(2, 0, 2, 4096))},
		{"loops", "want at most 4096 blocks on a token's way, got " + strconv.Itoa(math.MaxInt/2+1) + " times 2 of 2: set loops lower", tinyVector(looped(2, 0, 2, math.MaxInt/2+1))},
	}
}

// badZoo returns refused configs of single designs, and configs that all designs refuse.
func badZoo(t *testing.T) (bad []refusal) {
	for _, r := range rowsOf[refusedRow](t, "refused") {
		bad = append(bad, refusal{r.row.Key, r.row.Problem, tinyOn(t, r.design, r.row.Model)})
	}
	for _, base := range zooBases(t) {
		if _, known := base.Stream.(stream.MuPDesign); !known {
			base.MuP = &models.MuP{}
			bad = append(bad, refusal{"mup", fmt.Sprintf("want nothing for the %s stream, which muP is not known for", base.Stream.Name()), base})
		}
		base.MuP, base.Stream = nil, withField(base.Stream, "D", 0)
		bad = append(bad, refusal{"stream.d_model", "want >= 1, got 0", base})
	}
	return bad
}

// badExperts returns refused configs of mixtures of experts.
func badExperts() []refusal {
	return []refusal{
		{"feedforward.hidden", "want >= 1, got 0", tinyVector(withFeedForward(layers.MoEConfig{Experts: 4}))},
		{"feedforward.experts", "want >= 1, got -1", tinyVector(experts(-1, 0))},
		{"feedforward.experts", "want >= 1, got 0", tinyVector(experts(0, 2))},
		{"feedforward.top_k", "want 1 to 4, the number of experts, got 5", tinyVector(experts(4, 5))},
		{"feedforward.top_k", "want 1 to 4, the number of experts, got -1", tinyMatrix(experts(4, -1))},
	}
}

// TestMuPIsKnownForMatrixAndVector: every other stream of the zoo refuses a muP base.
func TestMuPIsKnownForMatrixAndVector(t *testing.T) {
	var known []string
	for _, d := range models.Standard().Streams() {
		if _, ok := d.(stream.MuPDesign); ok {
			known = append(known, d.Name())
		}
	}
	assert.Equal(t, []string{"matrix", "vector"}, known)
}

// TestValidateAtTheEdge: configs just inside the limits build, and cost what Cost says.
func TestValidateAtTheEdge(t *testing.T) {
	edges := map[string]models.Config{"all experts": tinyVector(experts(3, 3)), "one expert": tinyVector(experts(1, 0))}
	for design, rows := range designrows.Read[map[string]designrows.Model](t, "edge") {
		for name, m := range rows {
			edges[design+": "+name] = tinyOn(t, design, m)
		}
	}
	for name, config := range edges {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, problem(config))
			c := modeltest.Resolve(t, config)
			store := modeltest.NewStore(t, c, tensor.Float32, 0)
			assert.Equal(t, store.Size(), c.Cost().Parameters)
			modeltest.Compile(t, c, store, modeltest.Setup{Gradients: true})
		})
	}
}

// TestResolveZoo checks the defaults of settings that only some designs have.
func TestResolveZoo(t *testing.T) {
	for _, r := range rowsOf[defaultsRow](t, "defaults") {
		want := tinySettings(t, r.design, r.row.Are)
		assert.Equal(t, want.Stream, modeltest.Resolve(t, tinySettings(t, r.design, r.row.Of)).Config.Stream)
	}
	for n, k := range map[int]int{1: 1, 2: 2, 8: 2} {
		assert.Equal(t, layers.MoEConfig{Hidden: 17, Experts: n, TopK: k}, modeltest.Resolve(t, tinyVector(experts(n, 0))).FeedForward, "of %d experts", n)
	}
	for _, base := range append(zooBases(t), moeBase()) {
		c := modeltest.Resolve(t, base)
		assert.Equal(t, c, modeltest.Resolve(t, c.Config), base.Stream.Name())
	}
}

// TestSameModelZoo: another value of a design's settings makes another model.
func TestSameModelZoo(t *testing.T) {
	check := func(want string, base, other models.Config) {
		assert.EqualError(t, modeltest.Resolve(t, base).SameModel(modeltest.Resolve(t, other)), want)
	}
	for _, r := range rowsOf[differsRow](t, "differs") {
		base := tinySettings(t, r.design, r.row.Of)
		other := tinySettings(t, r.design, r.row.Of, r.row.To)
		if kind, ok := r.row.To["kind"].(string); ok {
			other = tinyOn(t, kind, nil)
		}
		check(r.row.Problem, base, other)
	}
	for want, change := range map[string]func(c *subject){
		"model.feedforward.experts: want 3, got 4":   inFeedForward("Experts", 4),
		"model.feedforward.top_k: want 2, got 1":     inFeedForward("TopK", 1),
		"model.feedforward.kind: want moe, got gelu": func(c *subject) { c.FeedForward = gelu(17) },
	} {
		c := subject{Config: moeBase()}
		change(&c)
		check(want, moeBase(), c.Config)
	}
}
