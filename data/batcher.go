package data

import (
	"math/bits"
	"math/rand/v2"

	"github.com/pkg/errors"
)

// Batcher draws training batches: windows of seq + 1 tokens that begin at offsets drawn uniformly
// over the stream, with replacement. A window may begin inside a document and extend into the next;
// for a Task it begins with an example. Of packed Conversations (Corpus.Pack) each row comes once
// an epoch, in an order that depends on the seed and the epoch: one batch of eight rows has the
// same rows as eight batches of one.
//
// The offset of a row is a hash of (seed, step, row), so the step counter is the only state:
// another Batcher over the same tokens continues from here after Seek(Position()). A Batcher must
// be used from one goroutine.
type Batcher struct {
	tokens     Tokens
	batch, seq int
	seed, step uint64

	order []int  // of packed rows in an epoch
	epoch uint64 // of order
}

// NewBatcher returns a Batcher at step 0. batch and seq must be at least 1, and there must be at
// least seq + 1 tokens (Corpus.Check requires a whole batch).
func NewBatcher(tokens Tokens, batch, seq int, seed uint64) (*Batcher, error) {
	if err := checkWindowShape(tokens, batch, seq); err != nil {
		return nil, errors.Wrap(err, "data: batcher")
	}
	return &Batcher{tokens: tokens, batch: batch, seq: seq, seed: seed}, nil
}

// Next fills inputs and targets, both [batch, seq] row-major, with the next batch: targets[b,
// i] is the token after inputs[b, i], or -1 for a token of a Task that is no answer. It does
// not allocate. If a slice has another length, Next returns an error and the position does not
// change.
func (b *Batcher) Next(inputs, targets []int32) error {
	if err := checkBatchLength(inputs, targets, b.batch, b.seq); err != nil {
		return errors.Wrap(err, "data: batcher")
	}
	length := max(1, b.tokens.Examples().Length)
	offsets := uint64((b.tokens.Len()-b.seq-1)/length + 1) // number of offsets at which a window of seq + 1 tokens may begin
	for row := range b.batch {
		if b.tokens.packed() {
			from := b.packedRow(b.step*uint64(b.batch)+uint64(row)) * b.seq
			copyWindow(inputs[row*b.seq:], targets[row*b.seq:], b.tokens.Slice(from, from+b.seq+1))
			continue
		}
		// High word of a product: uniform to within offsets / 2^64.
		offset, _ := bits.Mul64(counterHash(b.seed, b.step, uint64(row)), offsets)
		from := int(offset) * length
		copyWindow(inputs[row*b.seq:], targets[row*b.seq:], b.tokens.Slice(from, from+b.seq+1))
	}
	b.step++
	return nil
}

// packedRow returns which row of packed conversations is drawn at a place in the sequence of all
// rows drawn.
func (b *Batcher) packedRow(place uint64) int {
	rows := uint64((b.tokens.Len() - 1) / b.seq)
	if epoch := place / rows; b.order == nil || epoch != b.epoch {
		b.epoch, b.order = epoch, rand.New(rand.NewPCG(b.seed, epoch)).Perm(int(rows))
	}
	return b.order[place%rows]
}

// Targets returns how many targets each of the next n batches has, if they are packed
// conversations, and otherwise nil: all targets count alike. The position does not change.
func (b *Batcher) Targets(n int) []int {
	if !b.tokens.packed() {
		return nil
	}
	counts := make([]int, n)
	for i := range n * b.batch {
		from := b.packedRow(b.step*uint64(b.batch)+uint64(i)) * b.seq
		counts[i/b.batch] += b.tokens.Slice(from+1, from+b.seq+1).Targets()
	}
	return counts
}

// Skip passes over n batches, as n calls of Next would.
func (b *Batcher) Skip(n int) { b.step += uint64(n) }

// Position returns the number of batches drawn so far.
func (b *Batcher) Position() uint64 { return b.step }

// Seek makes the next batch the one at that position.
func (b *Batcher) Seek(position uint64) { b.step = position }

// counterHash is a counter-based generator: 64 bits that look independent for
// different arguments. Each argument is added and mixed by the finalizer of
// SplitMix64 (Steele, Lea and Flood 2014, figure 9: mix64variant13).
func counterHash(seed, step, row uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	h := mix64(seed + golden)
	h = mix64(h + golden*(step+1))
	return mix64(h + golden*(row+1))
}

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// copyWindow splits a window of n+1 tokens into n inputs and n targets.
func copyWindow(inputs, targets []int32, window Tokens) {
	n := window.Len() - 1
	window.CopyTo(inputs[:n])
	window.From(1).copyTargets(targets[:n])
}

func checkWindowShape(tokens Tokens, batch, seq int) error {
	if batch < 1 || seq < 1 {
		return errors.Errorf("want batch and seq of at least 1, got %d x %d", batch, seq)
	}
	if tokens.Len() < seq+1 {
		return errors.Errorf("want at least %d tokens (seq %d + 1), got %d", seq+1, seq, tokens.Len())
	}
	return nil
}

func checkBatchLength(inputs, targets []int32, batch, seq int) error {
	if want := batch * seq; len(inputs) != want || len(targets) != want {
		return errors.Errorf("want inputs and targets of %d elements (batch %d x seq %d), got %d and %d",
			want, batch, seq, len(inputs), len(targets))
	}
	return nil
}
