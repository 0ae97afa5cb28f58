package layers

// Card is a description, written by hand, of a stream's, an attention's or a feed-forward's design.
type Card struct {
	Title    string
	Equation string // for one token, in lines
	Source   string // the publication
	Use      string // what it is good for, and what to look out for
}
