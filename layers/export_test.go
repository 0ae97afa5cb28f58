package layers

// What tests of single layers look at.
var (
	ALiBiSlopes = alibiSlopes
	NewMoE      = newMoE
)
