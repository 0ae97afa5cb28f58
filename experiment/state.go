package experiment

import (
	"cmp"
	"slices"
)

// state is what a log tells of a cell.
type state struct {
	runs   []Record   // of each seed, at the best rate where rates are looked for
	tried  []Record   // with rates: of the first seed at each rate, by rate
	inside bool       // the best rate lies between two worse ones
	todo   []*Planned // what can be made now; with rates, more may follow from it
}

// state is what of the cell is in a log, by the runs' names.
func (c *cell) state(log map[string]Record) (s state, err error) {
	rate := 0.0
	if c.plan.Config.Rates == bracket {
		if rate, err = s.search(c, log); rate == 0 || err != nil {
			return s, err
		}
	}
	for seed := range uint64(c.plan.Config.Seeds) {
		r, found, err := c.find(log, rate, seed)
		switch {
		case err != nil:
			return s, err
		case found != nil:
			s.runs = append(s.runs, *found)
		default:
			s.todo = append(s.todo, r)
		}
	}
	return s, nil
}

// search goes through the rates of a search. It returns the best one, 0 while there is none, or another rate is to be tried first.
func (s *state) search(c *cell, log map[string]Record) (rate float64, err error) {
	own, err := c.at(0, 0)
	if err != nil {
		return 0, err
	}
	l := ladder{rungOf(own.Run.Train.LR), map[int]float64{}}
	for rung, more := l.next(); more; rung, more = l.next() {
		r, found, err := c.find(log, rateAt(rung), 0)
		if err != nil {
			return 0, err
		}
		if found == nil {
			s.todo = append(s.todo, r)
			break
		}
		l.losses[rung] = float64(found.Loss)
		s.tried = append(s.tried, *found)
	}
	slices.SortFunc(s.tried, func(a, b Record) int { return cmp.Compare(a.Rate, b.Rate) })
	best, found := l.best()
	s.inside = l.inside()
	for _, r := range s.tried {
		if len(s.todo) > 0 && found && r.Rate == rateAt(best) || !found && len(s.runs) == 0 {
			s.runs = append(s.runs, r)
		}
	}
	if !found || len(s.todo) > 0 {
		return 0, nil
	}
	return rateAt(best), nil
}

// count is how many runs a cell has, with rates at least, and how many of them are complete.
func (s state) count(c *Config) (runs, done int) {
	done = len(s.runs) + max(0, len(s.tried)-1) // the best rate's first seed is of both
	runs = done + len(s.todo)
	if c.Rates == bracket && len(s.todo) > 0 {
		runs = max(runs, c.Seeds+2)
	}
	return runs, done
}

// find is the run of a seed at a rate, and its line in a log, nil if it has none. A line of a run with another config is refused.
func (c *cell) find(log map[string]Record, rate float64, seed uint64) (*Planned, *Record, error) {
	r, err := c.at(rate, seed)
	if err != nil {
		return nil, nil, err
	}
	found, ok := log[r.Name]
	switch {
	case !ok:
		return r, nil, nil
	case found.Config != r.identity && found.Config != r.former:
		return nil, nil, Setupf("%s: its line in %s is of a run with another config, %s: choose another -out, or remove the line and the run's folder", r.Name, logFile, r.unlike(found))
	}
	return r, &found, c.plan.sameText(r, found.Corpus)
}
