package graph

import (
	"slices"
	"sort"
)

// shelves are the intervals that have their place, by offset, in short rows. A row knows enough of its intervals to be passed
// over as a whole, so that finding a place takes little time among many.
type shelves []*shelf

// shelf is a row of intervals that lie one after another by offset.
type shelf struct {
	row                  []*interval
	firstStart, firstEnd int // of all lives
	lastStart, lastEnd   int
	top                  int // where the highest ends
	gap                  int // the longest stretch within the row that is none's, where all are alive
}

const shelfLength = 128

// lowest is the lowest offset at which so many bytes are free for the whole life of v.
func (all shelves) lowest(v *interval) int {
	offset := 0
	for _, s := range all {
		switch {
		case s.lastEnd < v.start || v.end < s.firstStart: // none is alive with v
			continue
		case s.firstEnd >= v.start && v.end >= s.lastStart && s.gap < v.bytes && offset+v.bytes > s.row[0].offset: // all are, without room
			offset = max(offset, s.top)
			continue
		}
		for _, other := range s.row {
			if other.end < v.start || v.end < other.start {
				continue
			}
			if offset+v.bytes <= other.offset {
				return offset
			}
			offset = max(offset, other.offset+other.bytes)
		}
	}
	return offset
}

// put adds an interval that has its place, after those of the same offset.
func (all shelves) put(v *interval) shelves {
	at := sort.Search(len(all), func(i int) bool { return all[i].row[0].offset > v.offset }) - 1
	if at < 0 {
		if len(all) == 0 {
			all = append(all, &shelf{})
		}
		at = 0
	}
	s := all[at]
	i := sort.Search(len(s.row), func(i int) bool { return s.row[i].offset > v.offset })
	s.row = slices.Insert(s.row, i, v)
	if len(s.row) == shelfLength {
		upper := &shelf{row: slices.Clone(s.row[shelfLength/2:])}
		s.row = s.row[:shelfLength/2]
		upper.sum()
		all = slices.Insert(all, at+1, upper)
	}
	s.sum()
	return all
}

// sum notes what holds for the whole row.
func (s *shelf) sum() {
	first := s.row[0]
	*s = shelf{row: s.row, firstStart: first.start, firstEnd: first.end, lastStart: first.start, lastEnd: first.end, top: first.offset}
	for _, v := range s.row {
		s.firstStart, s.firstEnd = min(s.firstStart, v.start), min(s.firstEnd, v.end)
		s.lastStart, s.lastEnd = max(s.lastStart, v.start), max(s.lastEnd, v.end)
		s.gap, s.top = max(s.gap, v.offset-s.top), max(s.top, v.offset+v.bytes)
	}
}
