package stream

import "fmt"

// Additive is a stream whose output is a sum over what was written to it, once the quantities that
// a run computed from its input (mixing coefficients, gates, the scales of norms) are frozen. All
// streams of this package are additive.
type Additive interface {
	Stream
	// Writers lists the stream's own writers: tables, heads, what the design adds. What
	// feed-forwards write enters at the names of their sites.
	Writers() []Writer
	// Output is the hook of the stream's output, [T, ...], which Features reads.
	Output() string
	// FreezeHooks lists the hooks whose values Freeze needs.
	FreezeHooks() []string
	// Freeze returns the stream of a run with its coefficients frozen.
	Freeze(r Record) (*Frozen, error)
}

// Weighted is a stream that has a linear form without a run, of weights alone: sites read it
// linearly after norms, and what they write enters it linearly. All streams of this package are
// weighted but the depth-wise LSTM, whose sites write by gates.
type Weighted interface {
	Additive
	// Static is the form of one token with the coefficients that depend on the input as they are
	// in a plain residual stream, which the design says, and norms at scale 1; nil if there is no such form.
	Static() *Frozen
}

// HeadPart is the Part of a Writer whose parts are the heads of an attention.
const HeadPart = "head"

// PartName names a part of a Writer, or of another site: "blocks.3.attention.1" is a head, which flags
// take by this name, too; "blocks.3.feedforward neuron 17" is another part.
func PartName(writer, part string, index int) string {
	if part == HeadPart {
		return fmt.Sprintf("%s.%d", writer, index)
	}
	return fmt.Sprintf("%s %s %d", writer, part, index)
}

// Writer is something that writes to the stream: its parts' terms add up, with those of the
// other writers, to the stream's output. What a writer writes for token t is
//
//	y_t = a_t W + b       or, without a Weight,   y_t = a_t
//
// with a_t the token's entries of Activation, W the Weight and b the Bias. Part p has its
// share of the entries of a_t, in order, and the same share of the rows of W.
type Writer struct {
	Name string // "embedding", "blocks.3.attention", "blocks.1.aggregate"
	// Part is what the parts are, HeadPart, "neuron", "expert"; "" for a writer of one part.
	Part  string
	Parts int // of heads, 0: as many as the model has
	// Activation is the hook whose value is written, [T, ...].
	Activation string
	// Weight is the parameter [entries, width] between the activation and the stream; "":
	// the activation enters as it is.
	Weight string
	// Whole: without a weight, each part is as wide as what enters, and they are added;
	// otherwise they stand side by side.
	Whole bool
	Bias  string // parameter [width] that is written with the parts, or ""
	// Table: the activation is a row of the table that is the parameter Name, times Scale.
	Table bool
	Scale float64
	// Reads is how many numbers the writer itself makes of the stream, its hidden neurons and
	// gates; what sites read is not counted.
	Reads int
	// Source is where the parts enter the stream, a name that Frozen knows.
	Source string
}

// Record gives the activations that a run recorded.
type Record interface {
	Tokens() int
	// Activation returns the value of a hook, [T, ...].
	Activation(name string) ([]float64, error)
}
