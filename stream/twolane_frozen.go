package stream

import (
	"slices"

	"github.com/residua-go/residua/stream/linear"
)

// Form has a lane to read, and learned numbers to carry and write both.
func (s *twoLane) Form(at Site) Form {
	k, carries := s.c.kind(at), s.carries(at)
	f := mixedForm(at, packing{laneCount, 1}, Learned, nodeNames(s.lanes[at.Index]))
	f.Source = "modded-nanogpt, pull request 230; parameter-golf, pull request 1204"
	f.Res.Start = identity(laneCount)
	f.Up.Start = Start{"1", slices.Repeat([]float64{1}, laneCount)}
	f.Down.Choice, f.Down.Parameters = Fixed, nil
	f.Down.Start = Start{"1 at row (site mod n)", table(1, laneCount, func(_, j int) float64 { return indicator(j == k.lane()) })}
	if k.parallel {
		f.Res.Parameters = nodeNames(carries[:]...)
	}
	if !k.carries() {
		f.Res = fixed(laneCount, "n x n")
		f.Beyond = []Term{{Text: "h is read as it is before the block's attention"}}
	}
	return f
}

// Freeze is that of rows, whose mean is read at last; a parallel feed-forward reads before its block's attention writes.
func (s *twoLane) Freeze(r Record) (*Frozen, error) {
	f, err := s.copied.Freeze(r)
	if err != nil {
		return nil, err
	}
	f.ReadOut(linear.Rows(s.multi.c.D, slices.Repeat([]float64{1. / laneCount}, laneCount)), thenNorm(s.multi.b, s.norm))
	return s.beside(f), nil
}

// Static is that of rows that are alike.
func (s *twoLane) Static() *Frozen { return s.beside(s.copied.Static()) }

// beside moves the reads of parallel feed-forwards before their blocks' attention.
func (s *twoLane) beside(f *Frozen) *Frozen {
	for l := range s.multi.c.Layers {
		sites := s.Sites(l)
		if !s.c.kind(sites[0]).parallel {
			continue
		}
		f.reads[sites[1].Index].at--
		for i, from := range f.sources {
			if from.name == sites[0].Name() {
				f.sources[i].reads++
			}
		}
	}
	return f
}
