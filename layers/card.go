package layers

// Card is what is written by hand about a design, of a stream or of a feed-forward.
type Card struct {
	Title    string
	Equation string // of one token, in lines
	Source   string // the publication
	Use      string // what it is good for, and what to look out for
}
