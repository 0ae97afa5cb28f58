package optim

import (
	"cmp"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// Shards say how several ranks share an optimizer's work and state, as stage 1 of ZeRO does
// (Rajbhandari et al. 2020): each rank updates some entries of the parameters, and keeps the
// moments of these entries alone. The zero value is one rank with everything.
type Shards struct {
	Rank, Ranks int // this rank, from 0, and how many there are; Ranks 0: 1
	// Order lists all parameters in the order in which their gradients are final, as
	// Program.FinalOrder does; nil: the order of the store.
	Order []*graph.Param
	// Bucket is the number of entries at which a bucket of parameters is full; 0: DefaultBucket.
	Bucket int
}

// DefaultBucket is the number of entries in a bucket if Shards.Bucket is 0.
const DefaultBucket = 1 << 20

// Piece is a range of a parameter's entries and the rank that updates it.
type Piece = graph.Piece

// Divisible is a Rule that can update a range of a parameter's entries, Row.From to Row.To, and
// whose moments have one entry for each of them. A parameter with any other rule belongs to one
// rank.
type Divisible interface {
	// Unit returns how many consecutive entries have to be updated together, and how much work that
	// is. All units of a parameter have that size.
	Unit(p *graph.Param) (entries int, work float64)
}

// Shard makes the optimizer update one rank's entries only. The parameters in s.Order are cut into
// buckets. Where a rule updates entries one by one, each rank gets an equal share of each bucket;
// larger units are dealt out so that the ranks have about the same work.
func Shard(s Shards) Part {
	return func(c *composer) error {
		if c.whole == nil {
			return errors.New("shard: want it over all parameters, got it in a group")
		}
		if s.Ranks < 0 || s.Rank < 0 || s.Rank >= max(1, s.Ranks) {
			return errors.Errorf("shard: want a rank from 0 to %d, got %d", max(1, s.Ranks)-1, s.Rank)
		}
		if s.Order != nil && len(s.Order) != len(c.rows) {
			return errors.Errorf("shard: want an order of all %d parameters, got %d", len(c.rows), len(s.Order))
		}
		c.whole.shards = s
		return nil
	}
}

// Buckets returns the entries of all parameters as pieces, in buckets in the order of Shards.Order.
// They are the same on all ranks.
func (o *Optimizer) Buckets() [][]Piece { return o.buckets }

// share makes the buckets, and sets each row's range to this rank's piece.
func (o *Optimizer) share() error {
	rows := map[*graph.Param]*Row{}
	order := o.shards.Order
	for i := range o.rows {
		rows[o.rows[i].Param] = &o.rows[i]
		if o.shards.Order == nil {
			order = append(order, o.rows[i].Param)
		}
	}
	var all []*Row
	for _, p := range order {
		r := rows[p]
		if r == nil {
			return errors.Errorf("shard: want each parameter of the store once in the order, got %q", p.Name)
		}
		delete(rows, p)
		all = append(all, r)
	}
	ranks := max(1, o.shards.Ranks)
	dealt := deal(all, ranks)
	full := cmp.Or(o.shards.Bucket, DefaultBucket)
	for len(all) > 0 {
		n, entries := 0, 0
		for ; n < len(all) && entries < full; n++ {
			entries += all[n].Param.Size()
		}
		o.buckets = append(o.buckets, bucketOf(all[:n], dealt, ranks))
		all = all[n:]
	}
	for _, bucket := range o.buckets {
		for _, p := range bucket {
			if p.Owner == o.shards.Rank {
				r := &o.rows[slices.IndexFunc(o.rows, func(r Row) bool { return r.Param == p.Param })]
				r.From, r.To = p.From, p.To
			}
		}
	}
	return nil
}

// unitOf returns a parameter's unit and its work.
func unitOf(r *Row) (entries int, work float64) {
	if d, ok := r.Rule.(Divisible); ok {
		return d.Unit(r.Param)
	}
	return r.Param.Size(), float64(r.Param.Size())
}

// deal gives parameters with units of several entries to ranks. A parameter with at least one unit
// for each rank is cut into a range of units for each; every other parameter has one owner:
// starting with the most work, each goes to the rank that has the least work until then.
func deal(rows []*Row, ranks int) map[*Row][]Piece {
	dealt, load := map[*Row][]Piece{}, make([]float64, ranks)
	var whole []*Row
	total := func(r *Row) float64 {
		entries, work := unitOf(r)
		return work * float64(r.Param.Size()/entries)
	}
	for _, r := range rows {
		entries, work := unitOf(r)
		units := r.Param.Size() / entries
		switch {
		case entries == 1:
		case units < ranks:
			whole = append(whole, r)
		default:
			for rank := range ranks {
				from, to := rank*units/ranks, (rank+1)*units/ranks
				dealt[r] = append(dealt[r], Piece{Param: r.Param, From: from * entries, To: to * entries, Owner: rank})
				load[rank] += work * float64(to-from)
			}
		}
	}
	slices.SortStableFunc(whole, func(a, b *Row) int { return cmp.Compare(total(b), total(a)) })
	for _, r := range whole {
		rank := slices.Index(load, slices.Min(load))
		dealt[r] = []Piece{{Param: r.Param, To: r.Param.Size(), Owner: rank}}
		load[rank] += total(r)
	}
	return dealt
}

// bucketOf returns the pieces of a bucket. Parameters that were dealt out keep their pieces; the
// entries of all others, one parameter after the other, are cut into equal shares.
func bucketOf(rows []*Row, dealt map[*Row][]Piece, ranks int) []Piece {
	entries := 0
	for _, r := range rows {
		if dealt[r] == nil {
			entries += r.Param.Size()
		}
	}
	var pieces []Piece
	begin := 0 // of the parameter, among these entries
	for _, r := range rows {
		if dealt[r] != nil {
			pieces = append(pieces, dealt[r]...)
			continue
		}
		size := r.Param.Size()
		for rank := range ranks {
			from, to := max(rank*entries/ranks-begin, 0), min((rank+1)*entries/ranks-begin, size)
			if from < to {
				pieces = append(pieces, Piece{Param: r.Param, From: from, To: to, Owner: rank})
			}
		}
		begin += size
	}
	return pieces
}
