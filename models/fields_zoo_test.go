package models_test

import "github.com/residua-go/residua/models"

// zooBases are small models of the streams beside matrix and vector, and a mixture of
// experts.
func zooBases() []models.Config {
	return []models.Config{
		tinyZoo(models.StreamHyper, func(c *models.Config) { c.N = 2 }),
		tinyZoo(models.StreamHyper, func(c *models.Config) { c.N, c.Dynamic = 2, true }),
		tinyZoo(models.StreamMHC, func(c *models.Config) { c.N = 3 }),
		tinyZoo(models.StreamMHCLite, func(c *models.Config) { c.N = 3 }),
		tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N = 3, 5 }),
		tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N = 3, 6 }),
		tinyZoo(models.StreamHighway, func(*models.Config) {}),
		tinyZoo(models.StreamHierAgg, func(*models.Config) {}),
		tinyZoo(models.StreamDWLSTM, func(c *models.Config) { c.FF = 0 }),
		tinyVector(func(c *models.Config) { c.Experts, c.TopK = 3, 2 }),
	}
}

// zooEffects are the fields that only some streams have.
func zooEffects() []fieldEffect {
	all := []string{seenParameters, seenLogits}
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	loss := []string{seenLoss, seenGradients}
	unchanged := append([]string{seenLogits, seenTraining}, same...)
	static, wide, moe := zooBases()[0], zooBases()[4], zooBases()[9]
	effects := []fieldEffect{
		{"N", static, func(c *models.Config) { c.N++ }, all, nil},
		{"N", zooBases()[2], func(c *models.Config) { c.N++ }, all, nil},
		{"N", zooBases()[3], func(c *models.Config) { c.N++ }, all, nil},
		{"N", wide, func(c *models.Config) { c.N++ }, all, nil},
		{"M", wide, func(c *models.Config) { c.M = 5 }, all, nil},
		{"ExpandEmbedding", wide, func(c *models.Config) { c.ExpandEmbedding = true }, all, nil},
		{"Dynamic", static, func(c *models.Config) { c.Dynamic = true }, all, nil},
		{"SinkhornIterations", zooBases()[2], func(c *models.Config) { c.SinkhornIterations = 2 }, function, same},
		{"SeparateAggregates", zooBases()[7], func(c *models.Config) { c.SeparateAggregates = true }, all, nil},
		{"Inner", zooBases()[7], func(c *models.Config) { c.Inner = 7 }, all, nil},
		{"Experts", tinyVector(func(*models.Config) {}), func(c *models.Config) { c.Experts = 3 }, all, nil},
		{"Experts", moe, func(c *models.Config) { c.Experts++ }, all, nil},
		{"TopK", moe, func(c *models.Config) { c.TopK = 1 }, function, same},
		{"BalanceLoss", moe, func(c *models.Config) { c.BalanceLoss = 0.01 }, loss, unchanged},
		{"RouterZLoss", moe, func(c *models.Config) { c.RouterZLoss = 1e-3 }, loss, unchanged},
	}
	for _, base := range zooBases() {
		effects = append(effects, commonEffects(base)...)
	}
	return effects
}

// commonEffects are the fields that every stream has.
func commonEffects(base models.Config) []fieldEffect {
	all := []string{seenParameters, seenLogits}
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	start := append([]string{seenParameters, seenRates}, function...)
	effects := []fieldEffect{
		{"Bias", base, func(c *models.Config) { c.Bias = true }, all, nil},
		{"Positions", base, func(c *models.Config) { c.Positions = models.PositionsNone }, all, nil},
		{"HeadSize", base, func(c *models.Config) { c.HeadSize = 7 }, all, nil},
		{"Norm", base, func(c *models.Config) { c.Norm = models.NormRMS }, function, same},
		{"NormEps", base, func(c *models.Config) { c.NormEps = 1e-2 }, function, same},
		{"Gelu", base, func(c *models.Config) { c.Gelu = models.GeluExact }, function, same},
		{"InverseLayerScaling", base, func(c *models.Config) { c.InverseLayerScaling = true }, function, same},
		{"MaskDocuments", base, func(c *models.Config) { c.MaskDocuments = true }, function, same},
		{"Dropout", base, func(c *models.Config) { c.Dropout = 0.1 }, []string{seenTraining}, append(same, function...)},
		{"InitStd", base, func(c *models.Config) { c.InitStd = 0.03 }, []string{seenInitial}, start},
		{"EmbeddingStd", base, func(c *models.Config) { c.EmbeddingStd = 0.03 }, []string{seenInitial}, start},
	}
	if base.Stream != models.StreamVWN { // whose embedding is wider
		effects = append(effects, fieldEffect{"TieEmbeddings", base, func(c *models.Config) { c.TieEmbeddings = true }, all, nil})
	}
	return effects
}
