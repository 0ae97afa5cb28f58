package kernel

import "github.com/pkg/errors"

// Embedding looks up rows of a table by token id.
type Embedding[T Float] struct {
	forward  embeddingForward[T]
	backward embeddingBackward[T]
	path     path
}

// Forward computes out[t] = scale * table[ids[t]] with table [vocab, width], ids [T] and out [T,
// width]. An id outside [0, vocab) is an error, and then nothing is written.
func (k *Embedding[T]) Forward(p *Pool, out, table []T, ids []int32, vocab, width int, scale float64) error {
	if err := checkIDs(ids, vocab); err != nil {
		return err
	}
	k.forward = embeddingForward[T]{
		out: out[:len(ids)*width], table: table[:vocab*width], ids: ids, width: width, scale: T(scale), path: pathOf[T](k.path),
	}
	p.Do(len(ids), &k.forward)
	return nil
}

// Backward computes the gradient of the table from dout [T, width]:
//
//	dtable[v] (+)= scale * sum of dout[t] over the t with ids[t] = v
//
// accumulate adds to what dtable holds; otherwise rows that no id names become zero. The sum goes
// over t in order, so the result does not depend on the thread count. An id outside [0, vocab) is
// an error, and then nothing is written.
func (k *Embedding[T]) Backward(p *Pool, dtable, dout []T, ids []int32, vocab, width int, scale float64, accumulate bool) error {
	if err := checkIDs(ids, vocab); err != nil {
		return err
	}
	k.backward = embeddingBackward[T]{
		dtable: dtable[:vocab*width], dout: dout[:len(ids)*width], ids: ids,
		width: width, scale: T(scale), accumulate: accumulate, path: pathOf[T](k.path),
	}
	p.Do(columnGroups(width), &k.backward)
	return nil
}

func checkIDs(ids []int32, vocab int) error {
	for t, id := range ids {
		if id < 0 || int(id) >= vocab {
			return errors.Errorf("embedding: ids[%d]: want a token id in [0, %d), the vocabulary, got %d: "+
				"was the text tokenized for another vocabulary?", t, vocab, id)
		}
	}
	return nil
}

type embeddingForward[T Float] struct {
	out, table []T
	ids        []int32
	width      int
	scale      T
	path       path
}

func (k *embeddingForward[T]) Part(_, lo, hi int) {
	for t := lo; t < hi; t++ {
		from := int(k.ids[t]) * k.width
		scaleTo(k.path, k.out[t*k.width:(t+1)*k.width], k.table[from:from+k.width], k.scale)
	}
}

// embeddingBackward is divided among workers by columns: each worker goes over all tokens in order.
type embeddingBackward[T Float] struct {
	dtable, dout []T
	ids          []int32
	width        int
	scale        T
	accumulate   bool
	path         path
}

func (k *embeddingBackward[T]) Part(_, lo, hi int) {
	first, end := groupColumns(lo, hi, k.width)
	if first == end {
		return
	}
	if !k.accumulate {
		for row := 0; row < len(k.dtable); row += k.width {
			clear(k.dtable[row+first : row+end])
		}
	}
	for t, id := range k.ids {
		row := int(id) * k.width
		addMultiple(k.path, k.dtable[row+first:row+end], k.dout[t*k.width+first:t*k.width+end], k.scale)
	}
}

// addMultiplePortable computes out += factor * x.
func addMultiplePortable[T Float](out, x []T, factor T) {
	x = x[:len(out)]
	for j, v := range x {
		out[j] += factor * v
	}
}
