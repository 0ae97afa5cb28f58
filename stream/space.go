package stream

// Rotatable is a design whose state can be rotated by orthogonal matrices that are folded into the
// weights, because everything that writes to it or reads it does so linearly.
type Rotatable interface {
	Design
	// Spaces lists the spaces that can be rotated, each by its own matrix.
	Spaces() []Space
}

// The names of spaces.
const (
	SpaceStream = "stream" // the entries of a vector
	SpaceKey    = "key"    // the rows of a matrix
	SpaceValue  = "value"  // its columns
)

// Space is a space of a stream's state. Parameters are listed by the last part of their names.
type Space struct {
	Name     string
	Size     int
	Writes   []string // parameters whose last axis consists of vectors of that space
	Reads    []string // parameters whose second-last axis does
	Features bool     // what blocks work on consists of vectors of that space
}

// Spaces returns the space of h, or none if h's entries have gains, which a rotation would mix.
func (c VectorConfig) Spaces() []Space {
	if c.LayerScale {
		return nil
	}
	return []Space{{Name: SpaceStream, Size: c.D, Features: true,
		Writes: []string{"embedding", "positions", "o", "o_bias", "norm_bias"}, Reads: []string{"qkv"}}}
}

// Spaces returns keys and values. Keys are the rows that sites read and write; features are R
// vectors of Dv entries.
func (c MatrixConfig) Spaces() []Space {
	return []Space{
		{Name: SpaceKey, Size: c.Dk, Reads: []string{"norm_bias"}, // [Dk, Dv]
			Writes: []string{"write_embedding", "write_positions", "read_unembedding", "read", "write"}},
		{Name: SpaceValue, Size: c.Dv, Features: true, Writes: []string{"embedding", "positions", "norm_bias"}},
	}
}
