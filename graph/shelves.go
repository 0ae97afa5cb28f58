package graph

import (
	"slices"
	"sort"
)

// shelves hold the intervals already placed, sorted by offset, in short rows. A row knows enough
// about its intervals to be skipped as a whole, which makes it fast to find a place among many.
type shelves []*shelf

// shelf is a row of intervals with successive offsets.
type shelf struct {
	row                  []*interval
	firstStart, firstEnd int // earliest start and end of all lives
	lastStart, lastEnd   int
	top                  int // where the highest interval ends
	gap                  int // the longest stretch within the row that is free while all its intervals are in use
}

const shelfLength = 128

// lowest returns the lowest offset at which v fits into memory that is free during its whole life.
func (all shelves) lowest(v *interval) int {
	offset := 0
	for _, s := range all {
		switch {
		case s.lastEnd < v.start || v.end < s.firstStart: // none is in use at the same time as v
			continue
		case s.firstEnd >= v.start && v.end >= s.lastStart && s.gap < v.bytes && offset+v.bytes > s.row[0].offset: // all are in use and leave no room
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

// put adds an interval that has been placed, after those with the same offset.
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

// sum updates what is known about the whole row.
func (s *shelf) sum() {
	first := s.row[0]
	*s = shelf{row: s.row, firstStart: first.start, firstEnd: first.end, lastStart: first.start, lastEnd: first.end, top: first.offset}
	for _, v := range s.row {
		s.firstStart, s.firstEnd = min(s.firstStart, v.start), min(s.firstEnd, v.end)
		s.lastStart, s.lastEnd = max(s.lastStart, v.start), max(s.lastEnd, v.end)
		s.gap, s.top = max(s.gap, v.offset-s.top), max(s.top, v.offset+v.bytes)
	}
}
