package analysis

// What the tests of this package call.
var (
	BasisOf             = basisOf
	BasisWords          = BasisPoint.words
	FoldNorms           = foldNorms
	HeadScoresOn        = headScoresOn
	RandomCosineDensity = randomCosineDensity
	RandomOverlap       = randomOverlap
	TensorProductNames  = tensorProductNames
	TensorProductOf     = tensorProductOf
)
