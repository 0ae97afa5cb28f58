package kernel

// sequence does several tasks in one Do, in which their items follow one another, so that workers
// do not wait after each task.
type sequence[K Task] struct {
	tasks []K
	sizes []int // of the tasks to do
	items int   // their sum
}

// add adds a task of n items and returns it for the caller to fill. It may hold the buffers of
// an earlier task.
func (s *sequence[K]) add(n int) *K {
	s.sizes, s.items = append(s.sizes, n), s.items+n
	s.tasks = growKept(s.tasks, max(len(s.sizes), len(s.tasks)))
	return &s.tasks[len(s.sizes)-1]
}

// run does the tasks and returns them.
func (s *sequence[K]) run(p *Pool) []K {
	p.Do(s.items, s)
	done := s.tasks[:len(s.sizes)]
	s.sizes, s.items = s.sizes[:0], 0
	return done
}

func (s *sequence[K]) Part(worker, lo, hi int) {
	for i, n := range s.sizes {
		if lo < n && hi > 0 {
			s.tasks[i].Part(worker, max(lo, 0), min(hi, n))
		}
		lo, hi = lo-n, hi-n
	}
}
