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
	p.Do(k.backward.weigh(vocab), &k.backward)
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

// embeddingBackward divides the entries of the table among workers, each of which goes over
// all tokens in order. Entries are weighed by the number of tokens that are added to them.
// Several rows share a weight, so that weighing takes little time in a large vocabulary.
type embeddingBackward[T Float] struct {
	dtable, dout []T
	ids          []int32
	width        int
	scale        T
	accumulate   bool
	path         path
	weights      [embeddingWeights]int // row v has number v % embeddingWeights
}

const embeddingWeights = 512

// weigh finds the weights and returns what all entries together weigh.
func (k *embeddingBackward[T]) weigh(vocab int) int {
	total := 2 * len(k.ids)
	if !k.accumulate { // rows are cleared, too
		total += vocab
		for i := range k.weights {
			k.weights[i] = (vocab + embeddingWeights - 1 - i) / embeddingWeights
		}
	}
	for _, id := range k.ids {
		k.weights[id%embeddingWeights] += 2
	}
	return total * k.width
}

func (k *embeddingBackward[T]) Part(_, lo, hi int) {
	var columns [embeddingWeights]struct{ first, end int } // of the rows with this weight
	at := 0
	for i, weight := range k.weights {
		group := func(item int) int { return columnGroups(max(0, item-at) / max(1, weight)) }
		first, end := groupColumns(group(lo), group(hi), k.width)
		columns[i].first, columns[i].end = first, end
		at += weight * k.width
		if k.accumulate || first == end {
			continue
		}
		for row := i * k.width; row < len(k.dtable); row += embeddingWeights * k.width {
			clear(k.dtable[row+first : row+end])
		}
	}
	for t, id := range k.ids {
		if c := columns[id%embeddingWeights]; c.first < c.end {
			row, from := int(id)*k.width, t*k.width
			addMultiple(k.path, k.dtable[row+c.first:row+c.end], k.dout[from+c.first:from+c.end], k.scale)
		}
	}
}
