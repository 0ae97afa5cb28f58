package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
)

// checkCausality checks that later tokens change no bit of what earlier ones compute, and
// nothing in another row, and that earlier tokens affect all later ones.
func checkCausality(t *testing.T, spec models.Spec) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		p := Compile(t, spec, PerturbedStore(t, spec, dt), Setup{})
		b := RandomBatch(spec, rows, spec.Seq, 3)
		before := p.On(t, b).Logits
		for _, first := range []int{0, 1, spec.Seq / 2, spec.Seq - 1} {
			changed := b.clone()
			for i := first; i < spec.Seq; i++ {
				changed.replace(spec, i)
			}
			after := p.On(t, changed).Logits
			requireRows(t, spec, before, after, 0, first, true, "%v: tokens before %d, which changes", dt, first)
			requireRows(t, spec, before, after, first, spec.Seq, false, "%v: tokens from %d on, which change", dt, first)
			requireRows(t, spec, before, after, spec.Seq, rows*spec.Seq, true, "%v: another row", dt)
		}
		changed := b.clone()
		changed.replace(spec, 0)
		after := p.On(t, changed).Logits
		requireRows(t, spec, before, after, 0, spec.Seq, false, "%v: tokens after the first, which changes", dt)
	}
}

// checkDocuments checks that with MaskDocuments another document's tokens change no bit, and
// that without it they change the logits.
func checkDocuments(t *testing.T, spec models.Spec) {
	bos := spec.Seq / 3
	for _, masked := range []bool{true, false} {
		c := varied(t, spec, func(c *models.Config) { c.MaskDocuments = masked })
		p := Compile(t, c, PerturbedStore(t, c, tensor.Float64), Setup{})
		b := RandomBatch(c, rows, c.Seq, 4)
		b.Inputs[bos] = int32(c.BOS)
		before := p.On(t, b).Logits
		changed := b.clone()
		for i := range bos {
			changed.replace(c, i)
		}
		after := p.On(t, changed).Logits
		requireRows(t, c, before, after, 0, bos, false, "the changed document")
		requireRows(t, c, before, after, bos, c.Seq, masked, "the document after it, masked: %t", masked)
		b.Inputs[bos+1] = int32(c.BOS) // a run of BOS opens one document
		requireRunOpensOne(t, c, p, b, bos, masked)
	}
}

// requireRunOpensOne requires that the second BOS of a run sees the first, and with a mask nothing
// before it.
func requireRunOpensOne(t *testing.T, spec models.Spec, p *Program, b Batch, bos int, masked bool) {
	t.Helper()
	before := p.On(t, b).Logits
	changed := b.clone()
	changed.replace(spec, 0)
	after := p.On(t, changed).Logits
	requireRows(t, spec, before, after, bos, spec.Seq, masked, "after a run of BOS, masked: %t", masked)
	changed = b.clone()
	changed.replace(spec, bos) // now the document begins at the second
	after = p.On(t, changed).Logits
	requireRows(t, spec, before, after, bos+2, spec.Seq, false, "after a run of BOS whose first changes")
}

// requireRows requires that the tokens first to end-1 have the same logits to the last bit, or that
// each of them has different ones.
func requireRows(t *testing.T, spec models.Spec, before, after []float64, first, end int, same bool, what string, args ...any) {
	t.Helper()
	for i := first; i < end; i++ {
		x, y := before[i*spec.Vocab:(i+1)*spec.Vocab], after[i*spec.Vocab:(i+1)*spec.Vocab]
		if same {
			require.True(t, slices.Equal(x, y), append([]any{what + ": token %d changed by %.1e"}, append(args, i, Distance(y, x))...)...)
		} else {
			require.Greater(t, Distance(y, x), 1e-9, append([]any{what + ": token %d did not change"}, append(args, i)...)...)
		}
	}
}
