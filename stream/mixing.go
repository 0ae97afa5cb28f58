package stream

// Mixer is a stream whose sites read, carry or write its state by coefficients: hyper-connections
// and designs based on them.
type Mixer interface {
	Stream
	// Mixings lists the matrices of coefficients in the order of the run.
	Mixings() []Mixing
}

// MixingKind says what a matrix of coefficients does.
type MixingKind string

// The kinds: the coefficients of the linear form h' = A_res h + B_up F(A_down h), the weights of a
// sum over depth, and gates.
const (
	MixingCarry MixingKind = "A_res"
	MixingDown  MixingKind = "A_down"
	MixingUp    MixingKind = "B_up"
	MixingDepth MixingKind = "depth weights"
	MixingGate  MixingKind = "gate"
)

// Mixing is a matrix of coefficients at one place, one for each token or one for all tokens.
type Mixing struct {
	Name          string // of the site or block, "blocks.3.attention"
	Kind          MixingKind
	Rows, Columns int
	Hook          string // hook of the activation that holds them, [T, ...] or the same for all tokens
	// Entry returns the index of row i, column j among a token's values; nil: they are in row-major
	// order.
	Entry func(i, j int) int
	// Of computes the coefficient from the stored value; nil: the value is the coefficient.
	Of func(v float64) float64
}

// Mixings lists a stream's matrices of coefficients: a Mixer's Mixings and the weights of a
// DepthReader. For a stream that is neither it returns nil.
func Mixings(s Stream) []Mixing {
	var all []Mixing
	if m, ok := s.(Mixer); ok {
		all = m.Mixings()
	}
	if d, ok := s.(DepthReader); ok {
		_, reads := d.DepthReads()
		for _, r := range reads {
			if r.Weights != "" {
				all = append(all, Mixing{Name: r.Name, Kind: MixingDepth, Rows: len(r.Readers), Columns: len(r.Of), Hook: r.Weights})
			}
		}
	}
	return all
}

// Mixings lists the factors by which each site writes to the rows, 2 sigmoid(z W_inject / n).
func (s *gatedResidual) Mixings() (all []Mixing) {
	for _, at := range s.c.AllSites() {
		all = append(all, Mixing{Name: at.Name(), Kind: MixingUp, Rows: s.config.N, Columns: 1, Hook: s.reads[at.Index].name + projectionHook,
			Entry: func(i, _ int) int { return s.config.Rank + i }, Of: func(v float64) float64 { return 2 * logistic(v/float64(s.config.N)) }})
	}
	return all
}

// Mixings lists the gate beta and the values v of each site.
func (s *deepDelta) Mixings() (all []Mixing) {
	for _, at := range s.c.AllSites() {
		all = append(all,
			Mixing{Name: at.Name(), Kind: MixingGate, Rows: 1, Columns: 1, Hook: at.Name() + gateSuffix, Of: func(v float64) float64 { return 2 * v }},
			Mixing{Name: at.Name(), Kind: MixingUp, Rows: s.config.Dv, Columns: 1, Hook: at.Name() + valuesSuffix, Of: func(v float64) float64 {
				return s.config.VScale * v
			}})
	}
	return all
}
