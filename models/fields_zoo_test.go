package models_test

import (
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// zooBases are small models of the streams of vectors other than vector itself, and a mixture of
// experts. A stream without a row comes with its defaults.
func zooBases() []models.Config {
	bases := []models.Config{
		tinyZoo(stream.HyperConfig{N: 2}, plainly),
		tinyZoo(stream.HyperConfig{N: 2, Dynamic: true}, plainly),
		tinyZoo(stream.MHCConfig{N: 3}, plainly),
		tinyZoo(stream.MHCLiteConfig{N: 3}, plainly),
		tinyZoo(stream.VWNConfig{M: 3, N: 5}, plainly),
		tinyZoo(stream.VWNConfig{M: 3, N: 6}, plainly),
		tinyZoo(stream.HighwayConfig{}, plainly),
		tinyZoo(stream.HieraggConfig{}, plainly),
		tinyZoo(stream.DWLSTMConfig{}, plainly),
		tinyVector(experts(3, 2)),
	}
	listed := map[string]bool{stream.MatrixConfig{}.Name(): true, stream.DynamicMatrixConfig{}.Name(): true}
	for _, base := range bases {
		listed[base.Stream.Name()] = true
	}
	for _, d := range models.Standard().Streams() {
		if !listed[d.Name()] {
			bases = append(bases, tinyZoo(d, plainly))
		}
	}
	return bases
}

// zooEffects are the settings that only some designs have.
func zooEffects() []effect {
	every := []string{seenParameters, seenLogits}
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	loss := []string{seenLoss, seenGradients}
	unchanged := append([]string{seenLogits, seenTraining}, same...)
	static, wide, moe := zooBases()[0], zooBases()[4], zooBases()[9]
	effects := []effect{
		{"stream.hyper.n", static, onField("N", 3), every, nil},
		{"stream.mhc.n", zooBases()[2], onField("N", 4), every, nil},
		{"stream.mhc-lite.n", zooBases()[3], onField("N", 4), every, nil},
		{"stream.kromhc.n", tinyZoo(stream.KromHCConfig{N: 4}, plainly), onField("N", 2), every, nil},
		{"stream.gated-residual.n", tinyZoo(stream.GatedResidualConfig{N: 2, Rank: 3}, plainly), onField("N", 3), every, nil},
		{"stream.gated-residual.rank", tinyZoo(stream.GatedResidualConfig{N: 2, Rank: 3}, plainly), onField("Rank", 4), every, nil},
		{"stream.wide.form", tinyZoo(stream.WideConfig{}, plainly), func(c *subject) { c.Config = c.OnStream(stream.WideConfig{Form: "latent"}) }, every, nil},
		{"stream.wide.width", tinyZoo(stream.WideConfig{Form: "latent"}, plainly), onField("Width", 20), every, nil},
		{"stream.wide.max_forget", tinyZoo(stream.WideConfig{Retention: true}, plainly), onField("MaxForget", 0.2), append([]string{seenInitial}, function...), []string{seenParameters, seenRates}},
		{"stream.vwn.n", wide, onField("N", 6), every, nil},
		{"stream.vwn.m", wide, onField("M", 5), every, nil},
		{"stream.vwn.expand_embedding", wide, onField("Expand", true), every, nil},
		{"stream.hyper.dynamic", static, onField("Dynamic", true), every, nil},
		{"stream.mhc.sinkhorn_iterations", zooBases()[2], onField("Iterations", 2), function, same},
		{"stream.mhc.start_logit", zooBases()[2], onField("StartLogit", -2.0), []string{seenInitial}, append([]string{seenParameters, seenRates}, function...)},
		{"stream.mhc.start_alpha", zooBases()[2], onField("StartAlpha", 0.1), []string{seenInitial}, append([]string{seenParameters, seenRates}, function...)},
		{"stream.hieragg.separate_aggregates", zooBases()[7], onField("Separate", true), every, nil},
		{"stream.hieragg.inner", zooBases()[7], onField("Inner", 7), every, nil},
		{"feedforward.swiglu.hidden", tinyVector(withFeedForward(layers.SwiGLUConfig{Hidden: 7})), inFeedForward("Hidden", 12), every, nil},
		{"feedforward.relu2.hidden", tinyMatrix(withFeedForward(layers.ReLU2Config{Hidden: 7})), inFeedForward("Hidden", 12), every, nil},
		{"feedforward.relu.hidden", tinyMatrix(withFeedForward(layers.ReLUConfig{Hidden: 7})), inFeedForward("Hidden", 12), every, nil},
		{"stream.mudd.prepost", tinyZoo(stream.MUDDConfig{}, plainly), onField("PrePost", true), every, nil},
		{"stream.mudd.expand_last", tinyZoo(stream.MUDDConfig{}, plainly), onField("ExpandLast", true), every, nil},
		{"stream.mudd.round64", tinyZoo(stream.MUDDConfig{}, plainly), onField("Round64", true), every, nil},
		{"stream.laurel.form", tinyZoo(stream.LaurelConfig{}, plainly), func(c *subject) { c.Config = c.OnStream(stream.LaurelConfig{Form: "gemma"}) }, every, nil},
		{"stream.laurel.weights", tinyZoo(stream.LaurelConfig{}, plainly), onField("Weights", "sigmoid"), function, same},
		{"stream.laurel.weight_scale", tinyZoo(stream.LaurelConfig{}, plainly), onField("WeightScale", 1.0), function, same},
		{"stream.laurel.rank", tinyZoo(stream.LaurelConfig{}, plainly), onField("Rank", 2), every, nil},
		{"stream.laurel.previous", tinyZoo(stream.LaurelConfig{}, plainly), onField("Previous", 2), every, nil},
		{"stream.attnres.block", tinyZoo(stream.AttnResConfig{}, plainly), onField("Block", 3), function, same},
		{"stream.attnres.delta", tinyZoo(stream.AttnResConfig{}, plainly), onField("Delta", true), every, nil},
		{"stream.attnres.block", tinyZoo(stream.AttnResConfig{Delta: true}, plainly), onField("Block", 3), every, nil},
		{"stream.attnres.gate", tinyZoo(stream.AttnResConfig{Delta: true}, plainly), onField("Gate", true), every, nil},
		{"stream.two-lane.split", tinyZoo(stream.TwoLaneConfig{}, plainly), onField("Split", 1), every, nil},
		{"stream.two-lane.parallel", tinyZoo(stream.TwoLaneConfig{}, plainly), onField("Parallel", true), function, same},
		{"stream.keel.alpha", tinyZoo(stream.KeelConfig{}, plainly), onField("Alpha", 1.0), function, same},
		{"feedforward.moe.hidden", moe, inFeedForward("Hidden", 12), every, nil},
		{"feedforward.moe.experts", moe, inFeedForward("Experts", 4), every, nil},
		{"feedforward.moe.top_k", moe, inFeedForward("TopK", 1), function, same},
		{"feedforward.moe.raw_gates", moe, inFeedForward("RawGates", true), function, same},
		{"BalanceLoss", moe, func(c *subject) { c.BalanceLoss = 0.01 }, loss, unchanged},
		{"RouterZLoss", moe, func(c *subject) { c.RouterZLoss = 1e-3 }, loss, unchanged},
	}
	for _, base := range zooBases() {
		effects = append(effects, commonEffects(base)...)
	}
	return effects
}

// commonEffects are the settings that every stream of vectors has.
func commonEffects(base models.Config) []effect {
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
	if _, wide := base.Stream.(stream.VWNConfig); !wide { // whose embedding is wider
		effects = append(effects, effect{"tie_embeddings", base, func(c *subject) { c.TieEmbeddings = true }, every, nil})
	}
	if _, gated := base.Stream.(stream.GatedResidualConfig); gated { // whose reads are its norms
		return append(effects, effect{"norm", base, func(c *subject) { c.Norm = models.NormRMS }, nil, everything()})
	}
	return append(effects, effect{"norm", base, func(c *subject) { c.Norm = models.NormRMS }, function, same})
}
