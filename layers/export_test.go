package layers

// Unexported functions that tests call.
var (
	ALiBiSlopes = alibiSlopes
	NewMoE      = newMoE
)
