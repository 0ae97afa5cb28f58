package kernel

// Dispatch says which experts the tokens of a mixture of experts go to. An assignment is the i-th
// choice of token t and has the number t*K + i. The experts work on rows, one for each assignment,
// sorted by expert; the rows of one expert are in the order of their tokens. Experts have no
// capacity limit: no assignment is dropped, and no row is padding.
type Dispatch struct {
	Tokens, K, Experts int

	Choices []int32 // [tokens, K]: the expert of an assignment
	Places  []int32 // [tokens, K]: its row
	Order   []int32 // [rows]: the assignment of a row
	Offsets []int32 // [experts + 1]: expert e has the rows [Offsets[e], Offsets[e+1])
}

// DispatchSize returns the number of integers of a Dispatch.
func DispatchSize(tokens, k, experts int) int { return 3*tokens*k + experts + 1 }

// NewDispatch returns a Dispatch of k choices for each token that uses memory, which must have
// DispatchSize elements.
func NewDispatch(memory []int32, tokens, k, experts int) Dispatch {
	rows := tokens * k
	return Dispatch{
		Tokens: tokens, K: k, Experts: experts,
		Choices: memory[:rows], Places: memory[rows : 2*rows], Order: memory[2*rows : 3*rows],
		Offsets: memory[3*rows : 3*rows+experts+1],
	}
}

// Rows returns the number of assignments.
func (d *Dispatch) Rows() int { return d.Tokens * d.K }

// rows returns the rows [first, end) of expert e.
func (d *Dispatch) rows(e int) (first, end int) { return int(d.Offsets[e]), int(d.Offsets[e+1]) }

// token returns the token of a row.
func (d *Dispatch) token(row int) int { return int(d.Order[row]) / d.K }

// expert returns the expert of a row.
func (d *Dispatch) expert(row int) int { return int(d.Choices[d.Order[row]]) }

// sort fills the other slices from Choices by a counting sort, which keeps the order of tokens.
func (d *Dispatch) sort() {
	ends := d.Offsets
	clear(ends)
	for _, e := range d.Choices {
		ends[e+1]++
	}
	for e := range d.Experts {
		ends[e+1] += ends[e]
	}
	for assignment, e := range d.Choices { // Offsets[e] moves from e's first row to its end
		row := ends[e]
		d.Order[row], d.Places[assignment] = int32(assignment), row
		ends[e]++
	}
	copy(ends[1:], ends[:d.Experts])
	ends[0] = 0
}

// Counts writes the number of assignments of each expert to counts [experts].
func (d *Dispatch) Counts(counts []int32) {
	for e := range counts[:d.Experts] {
		counts[e] = d.Offsets[e+1] - d.Offsets[e]
	}
}
