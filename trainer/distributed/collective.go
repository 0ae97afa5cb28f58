package distributed

import (
	"unsafe"

	"github.com/pkg/errors"
)

// Element is a type that collectives carry. Ranks must have the same byte order.
type Element interface{ byte | float32 | float64 }

// Number is a type that collectives add.
type Number interface{ float32 | float64 }

// Piece is a range of a vector and the rank that owns it. All ranks pass pieces of the same
// lengths and owners in the same order.
type Piece[T Element] struct {
	Data  []T
	Owner int
}

// Split cuts x into one piece for each rank. Their lengths differ by at most 1; the longer
// ones come first.
func Split[T Element](x []T, ranks int) []Piece[T] {
	pieces := make([]Piece[T], ranks)
	for r := range pieces {
		n := len(x) / (ranks - r)
		if len(x)%(ranks-r) > 0 {
			n++
		}
		pieces[r] = Piece[T]{x[:n:n], r}
		x = x[n:]
	}
	return pieces
}

// ReduceScatter sums each piece over the ranks and stores the sum in its owner's Data. It adds
// from rank 0 to rank Size-1, so that the sum always has the same bits. Other ranks' Data
// stays as it was. Each rank sends every piece that it does not own, once. The data must not
// change before Wait returns.
func ReduceScatter[T Number](g *Group, what string, pieces []Piece[T]) *Pending {
	return g.start(checkOwners(g, pieces), reduceScatter(g, what, pieces))
}

func reduceScatter[T Number](g *Group, what string, pieces []Piece[T]) *operation {
	op := &operation{what: what}
	var own [][]T
	for _, p := range pieces {
		switch {
		case len(p.Data) == 0:
		case p.Owner != g.rank:
			op.sends = append(op.sends, message{p.Owner, bytesOf(p.Data)})
		default:
			own = append(own, p.Data)
			op.scratch += (g.size - 1) * len(bytesOf(p.Data))
		}
	}
	var parts [][]T // for each piece, the other ranks' values
	op.prepare = func(scratch []byte) {
		for _, x := range own {
			for r := range g.size {
				if r == g.rank {
					continue
				}
				n := len(bytesOf(x))
				part := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(scratch))), len(x))
				op.receives = append(op.receives, message{r, scratch[:n:n]})
				parts = append(parts, part)
				scratch = scratch[n:]
			}
		}
	}
	op.finish = func() {
		for i, x := range own {
			addInOrder(x, parts[i*(g.size-1):(i+1)*(g.size-1)], g.rank)
		}
		parts = nil
	}
	return op
}

// addInOrder adds the other ranks' parts to rank's x, in the order of ranks. It overwrites parts.
func addInOrder[T Number](x []T, parts [][]T, rank int) {
	for _, p := range parts[min(1, rank):rank] {
		add(parts[0], p)
	}
	if rank > 0 {
		add(x, parts[0])
	}
	for _, p := range parts[rank:] {
		add(x, p)
	}
}

// add adds y to x.
func add[T Number](x, y []T) {
	y = y[:len(x)]
	for i := range x {
		x[i] += y[i]
	}
}

// AllGather copies each piece from its owner to all ranks. Each rank sends its own pieces to every
// other. The data must not change before Wait returns; an earlier collective on it must be done.
func AllGather[T Element](g *Group, what string, pieces []Piece[T]) *Pending {
	return g.start(checkOwners(g, pieces), allGather(g, what, pieces))
}

func allGather[T Element](g *Group, what string, pieces []Piece[T]) *operation {
	op := &operation{what: what}
	for _, p := range pieces {
		switch {
		case len(p.Data) == 0:
		case p.Owner != g.rank:
			op.receives = append(op.receives, message{p.Owner, bytesOf(p.Data)})
		default:
			for i := 1; i < g.size; i++ { // each rank begins with a different one
				op.sends = append(op.sends, message{(g.rank + i) % g.size, bytesOf(p.Data)})
			}
		}
	}
	return op
}

// AllReduce replaces x on every rank by its sum over the ranks, added in the order of ranks: a
// reduce-scatter of equal pieces, and an all-gather of the sums.
func AllReduce[T Number](g *Group, what string, x []T) *Pending {
	pieces := Split(x, g.size)
	gather := allGather(g, what, pieces)
	gather.alone = true
	return g.start(nil, reduceScatter(g, what, pieces), gather)
}

// Broadcast copies x from the root to all ranks: the root sends each rank a piece, and an
// all-gather spreads the pieces.
func Broadcast[T Element](g *Group, what string, root int, x []T) *Pending {
	scatter := &operation{what: what}
	pieces := Split(x, g.size)
	for r, p := range pieces {
		switch {
		case r == root || len(p.Data) == 0:
		case g.rank == root:
			scatter.sends = append(scatter.sends, message{r, bytesOf(p.Data)})
		case g.rank == r:
			scatter.receives = append(scatter.receives, message{root, bytesOf(p.Data)})
		}
	}
	gather := allGather(g, what, pieces)
	gather.alone = true
	return g.start(checkOwners(g, []Piece[T]{{Owner: root}}), scatter, gather)
}

// Barrier is done when all ranks have started it.
func Barrier(g *Group, what string) *Pending {
	return AllGather(g, what, Split(make([]byte, g.size), g.size))
}

// checkOwners returns an error if a piece's owner is not a rank.
func checkOwners[T Element](g *Group, pieces []Piece[T]) error {
	for _, p := range pieces {
		if p.Owner < 0 || p.Owner >= g.size {
			return errors.Errorf("owner of a piece: want a rank from 0 to %d, got %d", g.size-1, p.Owner)
		}
	}
	return nil
}

// bytesOf returns the memory of x as bytes, without copying it.
func bytesOf[T Element](x []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(zero)))
}
