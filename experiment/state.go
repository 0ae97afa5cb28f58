package experiment

import (
	"cmp"
	"slices"
)

// state is what the log says about a cell.
type state struct {
	runs   []Record   // one for each seed, at the best rate if rates are searched
	tried  []Record   // if rates are searched: the runs of seed 0, by rate
	best   float64    // if rates are searched: the best so far
	inside bool       // the best rate lies between two worse ones
	todo   []*Planned // runs that can be made now; if rates are searched, more may follow
}

// state returns the state of the cell in the log.
func (c *cell) state() (s state, err error) {
	rate := 0.0
	if c.plan.Config.Rates == bracket {
		if rate, err = s.search(c); rate == 0 || err != nil {
			return s, err
		}
	}
	for _, seed := range c.seeds() {
		found, err := s.look(c, rate, seed)
		if err != nil {
			return s, err
		}
		if found != nil {
			s.runs = append(s.runs, *found)
		}
	}
	return s, nil
}

// seeds lists the seeds of a cell's runs.
func (c *cell) seeds() []uint64 {
	n, other := c.plan.Config.SeedsOf[c.series]
	if !other {
		n = c.plan.Config.Seeds
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = c.plan.Config.FirstSeed + uint64(i)
	}
	return all
}

// search follows the search for the best rate as far as the log goes. It returns the best
// rate, or 0 if there is none yet or another rate has to be tried first.
func (s *state) search(c *cell) (rate float64, err error) {
	l := ladder{rungOf(c.first.Run.Train.LR), map[int]float64{}}
	for rungs := l.next(); len(rungs) > 0 && len(s.todo) == 0; rungs = l.next() {
		for _, rung := range rungs {
			found, err := s.look(c, rateAt(rung), 0)
			if err != nil {
				return 0, err
			}
			if found != nil {
				l.losses[rung] = float64(found.Loss)
				s.tried = append(s.tried, *found)
			}
		}
	}
	best, found := l.best()
	s.inside = l.inside()
	if found {
		s.best = rateAt(best)
	}
	for _, r := range s.tried {
		if c.plan.Config.FirstSeed == 0 && (found && r.Rate == s.best || !found && len(s.runs) == 0) {
			s.runs = append(s.runs, r)
		}
	}
	slices.SortFunc(s.tried, func(a, b Record) int { return cmp.Compare(a.Rate, b.Rate) })
	if !found || len(s.todo) > 0 {
		return 0, nil
	}
	s.runs = nil
	return s.best, nil
}

// count returns how many runs a cell has, or will have at least if rates are searched, and how many
// of them are complete.
func (s state) count(c *cell) (runs, done int) {
	names := map[string]bool{}
	for _, r := range slices.Concat(s.runs, s.tried) {
		names[r.Run] = true
	}
	done = len(names)
	runs = done + len(s.todo)
	if seeds := c.seeds(); c.plan.Config.Rates == bracket && len(s.todo) > 0 {
		least := 3 // the best rate and both its neighbours, with seed 0
		if slices.Contains(seeds, 0) {
			least--
		}
		runs = max(runs, len(seeds)+least)
	}
	return runs, done
}

// look returns the log's line for the run of a seed at a rate. If there is none, it adds the run to
// those to be made. It refuses a run with another config or on another text.
func (s *state) look(c *cell, rate float64, seed uint64) (*Record, error) {
	r, err := c.at(rate, seed)
	if err != nil {
		return nil, err
	}
	found, ok := c.plan.log[r.Name]
	switch {
	case !ok:
		s.todo = append(s.todo, r)
		return nil, nil
	case found.Config != r.identity && found.Config != r.former:
		return nil, setupErrorf("%s: its line in %s belongs to a run with another config, %s: choose another -out, or remove the line and the run's folder", r.Name,
			logFile, r.unlike(found))
	}
	return &found, c.plan.sameText(r, found.Corpus)
}
