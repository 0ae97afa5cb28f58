package models_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// zooBases returns small models of every stream of vectors except vector, in the order of the zoo.
// A design whose file lists no bases is taken with its defaults.
func zooBases(t *testing.T) (bases []models.Config) {
	rows := designrows.Read[[]designrows.Model](t, "bases")
	for _, d := range models.Standard().Streams() {
		if d.Name() == tinyVector(plainly).Stream.Name() || !hasWidth(d) {
			continue
		}
		models := rows[d.Name()]
		if len(models) == 0 {
			models = append(models, nil)
		}
		for _, m := range models {
			bases = append(bases, tinyOn(t, d.Name(), m))
		}
	}
	return bases
}

// moeBase is a small mixture of experts.
func moeBase() models.Config { return tinyVector(experts(3, 2)) }

// seenOf returns what a setting of a stream changes, and what it leaves as it is, for the word that
// a design's file uses.
func seenOf(t *testing.T, word string) (changes, keeps []string) {
	function := []string{seenLogits, seenLoss, seenGradients}
	switch word {
	case "shape":
		return []string{seenParameters, seenLogits}, nil
	case "function":
		return function, []string{seenParameters, seenInitial, seenRates}
	case "start":
		return []string{seenInitial}, append([]string{seenParameters, seenRates}, function...)
	case "function and start":
		return append([]string{seenInitial}, function...), []string{seenParameters, seenRates}
	}
	require.Fail(t, "seen: want shape, function, start, or function and start", "got %q", word)
	return nil, nil
}

// zooEffects returns the effects of the settings that only some designs have.
func zooEffects(t *testing.T) (effects []effect) {
	every := []string{seenParameters, seenLogits}
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	loss := []string{seenLoss, seenGradients}
	unchanged := append([]string{seenLogits, seenTraining}, same...)
	for _, r := range rowsOf[effectRow](t, "effects") {
		e := effect{key: "stream." + r.design + "." + r.row.Setting, base: tinySettings(t, r.design, r.row.Of)}
		changed := tinySettings(t, r.design, r.row.Of, designrows.Model{r.row.Setting: r.row.To})
		e.change = func(c *subject) { c.Config = changed }
		e.changes, e.keeps = seenOf(t, r.row.Seen)
		effects = append(effects, e)
	}
	moe := moeBase()
	effects = append(effects, []effect{
		{"feedforward.swiglu.hidden", tinyVector(withFeedForward(layers.SwiGLUConfig{Hidden: 7})), inFeedForward("Hidden", 12), every, nil},
		{"feedforward.swiglu.gate", tinyVector(withFeedForward(layers.SwiGLUConfig{Hidden: 7})), inFeedForward("Gate", layers.GateGELU), function, same},
		{"feedforward.relu2.hidden", tinyMatrix(withFeedForward(layers.ReLU2Config{Hidden: 7})), inFeedForward("Hidden", 12), every, nil},
		{"feedforward.relu.hidden", tinyMatrix(withFeedForward(layers.ReLUConfig{Hidden: 7})), inFeedForward("Hidden", 12), every, nil},
		{"feedforward.moe.hidden", moe, inFeedForward("Hidden", 12), every, nil},
		{"feedforward.moe.experts", moe, inFeedForward("Experts", 4), every, nil},
		{"feedforward.moe.top_k", moe, inFeedForward("TopK", 1), function, same},
		{"feedforward.moe.raw_gates", moe, inFeedForward("RawGates", true), function, same},
		{"BalanceLoss", moe, func(c *subject) { c.BalanceLoss = 0.01 }, loss, unchanged},
		{"RouterZLoss", moe, func(c *subject) { c.RouterZLoss = 1e-3 }, loss, unchanged},
	}...)
	for _, base := range append(zooBases(t), moe) {
		effects = append(effects, commonEffects(t, base)...)
	}
	return effects
}

// commonEffects returns the effects of the settings that every stream of vectors has.
func commonEffects(t *testing.T, base models.Config) []effect {
	every := []string{seenParameters, seenLogits}
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	start := append([]string{seenParameters, seenRates}, function...)
	effects := []effect{
		{"stream." + base.Stream.Name() + ".d_model", base, onField("D", 30), every, nil},
		{"bias", base, func(c *subject) { c.Bias = true }, every, nil},
		{"attention.positions", base, func(c *subject) { c.Attention.Positions = models.PositionsNone }, every, nil},
		{"attention.head_dim", base, func(c *subject) { c.Attention.HeadDim = 7 }, every, nil},
		{"norm_eps", base, func(c *subject) { c.NormEps = 1e-2 }, function, same},
		{"gelu", base, func(c *subject) { c.Gelu = models.GeluExact }, function, same},
		{"attention.inverse_layer_scaling", base, func(c *subject) { c.Attention.InverseLayerScaling = true }, function, same},
		{"mask_documents", base, func(c *subject) { c.MaskDocuments = true }, function, same},
		{"dropout", base, func(c *subject) { c.Dropout = 0.1 }, []string{seenTraining}, append(same, function...)},
		{"init_std", base, func(c *subject) { c.InitStd = 0.03 }, []string{seenInitial}, start},
		{"embedding_std", base, func(c *subject) { c.EmbeddingStd = 0.03 }, []string{seenInitial}, start},
	}
	name := base.Stream.Name()
	if designrows.Read[map[string]any](t, "tied")[name] == nil {
		effects = append(effects, effect{"tie_embeddings", base, func(c *subject) { c.TieEmbeddings = true }, every, nil})
	}
	if slices.Contains(designrows.Read[[]string](t, "no_effect")[name], "norm") {
		return append(effects, effect{"norm", base, func(c *subject) { c.Norm = models.NormRMS }, nil, everything()})
	}
	return append(effects, effect{"norm", base, func(c *subject) { c.Norm = models.NormRMS }, function, same})
}
