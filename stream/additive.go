package stream

import (
	"fmt"

	"github.com/residua-go/residua/stream/linear"
)

// Additive is a stream whose output is a sum over what was written to it, once the quantities that
// a run computed from its input (mixing coefficients, gates, the scales of norms) are frozen. All
// streams of this package are additive.
type Additive interface {
	Stream
	// Writers lists the stream's own writers: tables, heads, and what the design adds.
	// Feed-forwards are not listed; they write at the names of their sites.
	Writers() []Writer
	// Output returns the hook of the stream's output, [T, ...], which Features reads.
	Output() string
	// FreezeHooks lists the hooks whose values Freeze needs.
	FreezeHooks() []string
	// Freeze returns the stream of a run with its coefficients frozen.
	Freeze(r Record) (*Frozen, error)
}

// Weighted is a stream that has a linear form without a run, from its weights alone: sites read it
// linearly after norms, and what they write enters it linearly. All streams of this package are
// weighted except the depth-wise LSTM, whose sites write through gates.
type Weighted interface {
	Additive
	// Static returns the form of one token with norms at scale 1. Each design sets its coefficients
	// that depend on the input as in a plain residual stream. It returns nil if there is no such
	// form.
	Static() *Frozen
}

// HeadPart is the Part of a Writer whose parts are the heads of an attention.
const HeadPart = "head"

// PartName names a part of a Writer or of another site: "blocks.3.attention.1" is a head, which
// flags take by this name; "blocks.3.feedforward neuron 17" is a neuron.
func PartName(writer, part string, index int) string {
	if part == HeadPart {
		return fmt.Sprintf("%s.%d", writer, index)
	}
	return fmt.Sprintf("%s %s %d", writer, part, index)
}

// Writer is something that writes to the stream: the terms of all writers' parts add up to the
// stream's output. A writer writes for token t
//
//	y_t = a_t W + b       or, without a Weight,   y_t = a_t
//
// with a_t the token's entries of Activation, W the Weight and b the Bias. Part p has its
// share of the entries of a_t, in order, and the same share of the rows of W.
type Writer struct {
	Name string // "embedding", "blocks.3.attention", "blocks.1.aggregate"
	// Part names the kind of the parts: HeadPart, "neuron", "expert"; "" for a writer of one part.
	Part  string
	Parts int // for heads, 0 means as many as the model has
	// Activation is the hook whose value is written, [T, ...].
	Activation string
	// Weight is the parameter [entries, width] between the activation and the stream; "":
	// the activation enters as it is.
	Weight string
	// Whole says that without a weight each part is as wide as what is written, and the parts are
	// added; otherwise they stand side by side.
	Whole bool
	Bias  string // parameter [width] that is written with the parts, or ""
	// Table says that the activation is a row of a table, the parameter Name, multiplied by Scale.
	Table bool
	Scale float64
	// Over is the linear map over tokens that what is written passes through before it enters the
	// stream; nil: none.
	Over linear.Over
	// Reads is the number of values that the writer itself computes from the stream, its hidden
	// neurons and gates; what sites read is not counted.
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
