package distributed

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// values are a rank's numbers, the same in every call. Their magnitudes are so different that the
// order of a sum decides its last bits.
func values[T Number](rank, n int) []T {
	r := rand.New(rand.NewPCG(uint64(rank), 1))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64() * float64(int(1)<<r.IntN(30)))
	}
	return x
}

// sums adds the ranks' numbers in the order of ranks.
func sums[T Number](ranks, n int) []T {
	x := values[T](0, n)
	for r := 1; r < ranks; r++ {
		for i, v := range values[T](r, n) {
			x[i] += v
		}
	}
	return x
}

func TestCollectives(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5} {
		for _, n := range []int{0, 1, 4, 1003} {
			t.Run(fmt.Sprintf("%d ranks %d numbers", size, n), func(t *testing.T) {
				succeed(t, size, Options{}, func(g *Group) error { return collectives[float32](t, g, n) })
				succeed(t, size, Options{}, func(g *Group) error { return collectives[float64](t, g, n) })
			})
		}
	}
}

// collectives runs each collective and compares what it leaves in memory.
func collectives[T Number](t *testing.T, g *Group, n int) error {
	want := sums[T](g.Size(), n)
	x := values[T](g.Rank(), n)
	if err := AllReduce(g, "sum", x).Wait(); err != nil {
		return err
	}
	if !equal(want, x) {
		return errors.Errorf("all-reduce: want %v, got %v", want, x)
	}
	x = values[T](g.Rank(), n)
	pieces := Split(x, g.Size())
	for i := range pieces { // the last rank owns the first piece
		pieces[i].Owner = g.Size() - 1 - i
	}
	if err := ReduceScatter(g, "scatter", pieces).Wait(); err != nil {
		return err
	}
	for i, p := range Split(want, g.Size()) {
		left := Split(values[T](g.Rank(), n), g.Size())[i].Data // what was there
		if pieces[i].Owner == g.Rank() {
			left = p.Data
		}
		if !equal(left, pieces[i].Data) {
			return errors.Errorf("reduce-scatter, piece %d of rank %d: want %v, got %v", i, pieces[i].Owner, left, pieces[i].Data)
		}
	}
	if err := AllGather(g, "gather", pieces).Wait(); err != nil {
		return err
	}
	if !equal(want, x) {
		return errors.Errorf("all-gather: want %v, got %v", want, x)
	}
	for root := range g.Size() {
		x := values[T](g.Rank(), n)
		if err := Broadcast(g, "broadcast", root, x).Wait(); err != nil {
			return err
		}
		if want := values[T](root, n); !equal(want, x) {
			return errors.Errorf("broadcast from %d: want %v, got %v", root, want, x)
		}
	}
	return nil
}

func equal[T Number](x, y []T) bool {
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return len(x) == len(y)
}

// Ranks that start their collectives at different times get the same sums, and may have many
// under way.
func TestManyCollectivesUnderWay(t *testing.T) {
	const buckets, n = 40, 257
	succeed(t, 3, Options{Trace: true}, func(g *Group) error {
		var pending []*Pending
		var all [][]float32
		for b := range buckets {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			x := values[float32](g.Rank(), n)
			all = append(all, x)
			if b%3 == 0 {
				pending = append(pending, AllReduce(g, fmt.Sprintf("bucket %d", b), x))
				continue
			}
			pieces := []Piece[float32]{{x[:100], b % 3}, {x[100:], (b + 1) % 3}}
			if err := ReduceScatter(g, fmt.Sprintf("bucket %d", b), pieces).Wait(); err != nil {
				return err
			}
			pending = append(pending, AllGather(g, "back", pieces))
		}
		for _, p := range pending {
			if err := p.Wait(); err != nil {
				return err
			}
		}
		for b, x := range all {
			if !equal(sums[float32](3, n), x) {
				return errors.Errorf("bucket %d", b)
			}
		}
		for _, s := range g.Trace() {
			if s.Begun.Before(s.Started) || s.Done.Before(s.Begun) {
				return errors.Errorf("%+v", s)
			}
		}
		return nil
	})
}

func TestBarrier(t *testing.T) {
	var begun [2]time.Time
	var ended [2]time.Time
	succeed(t, 2, Options{}, func(g *Group) error {
		time.Sleep(time.Duration(g.Rank()) * 30 * time.Millisecond)
		begun[g.Rank()] = time.Now()
		defer func() { ended[g.Rank()] = time.Now() }()
		return Barrier(g, "barrier").Wait()
	})
	require.False(t, ended[0].Before(begun[1]))
}

func TestWrongOwner(t *testing.T) {
	succeed(t, 2, Options{}, func(g *Group) error {
		err := AllGather(g, "gather", []Piece[float32]{{Owner: 2}}).Wait()
		require.EqualError(t, err, "owner of a piece: want a rank from 0 to 1, got 2")
		return nil
	})
}

// Ranks that pass different lengths get an error that names the collective.
func TestDifferentLengths(t *testing.T) {
	errs := ranks(Memory(2), Options{}, func(g *Group) error {
		return AllGather(g, "parameters", []Piece[float32]{{make([]float32, 3+g.Rank()), 0}}).Wait()
	})
	require.NoError(t, errs[0])
	require.ErrorContains(t, errs[1], "parameters: receiving from rank 0 (process ")
	require.ErrorContains(t, errs[1], "want a message of 16 bytes from rank 0, got 12")
}

func TestSplit(t *testing.T) {
	pieces := Split([]byte("abcdefgh"), 3)
	require.Equal(t, []Piece[byte]{{[]byte("abc"), 0}, {[]byte("def"), 1}, {[]byte("gh"), 2}}, pieces)
}
