package kernel

import (
	"runtime"
	"slices"
	"time"
)

// Simulation tells how evenly the workers of a Pool share some work, on a machine with fewer
// processors. Of each part it keeps the shortest time of several runs, which has been disturbed
// least. Neither the bandwidth of memory nor the time to wake workers is simulated.
type Simulation struct {
	threads int
	items   []int           // of each Do
	parts   []time.Duration // of each Do in turn, one for each worker
	rest    time.Duration   // outside Do
}

// Simulate ends the workers. From now on the parts of a Do run one after another on the caller, as
// on a closed pool, and EndRun takes their times.
func (p *Pool) Simulate() {
	p.Close()
	p.simulated = true
}

// BeginRun begins a run of the work to simulate, and EndRun, on the same goroutine, adds it to the
// simulation. Unless Simulate has been called they do nothing.
func (p *Pool) BeginRun() {
	if p != nil && p.simulated {
		runtime.LockOSThread() // because clock reads the thread's time
		p.items, p.parts, p.begin = p.items[:0], p.parts[:0], clock()
	}
}

// EndRun ends the run that BeginRun has begun.
func (p *Pool) EndRun(s *Simulation) {
	if p == nil || !p.simulated {
		return
	}
	rest := clock() - p.begin
	runtime.UnlockOSThread()
	for _, part := range p.parts {
		rest -= part
	}
	s.add(p.threads, p.items, p.parts, rest)
}

// add adds a run.
func (s *Simulation) add(threads int, items []int, parts []time.Duration, rest time.Duration) {
	if !slices.Equal(s.items, items) {
		*s = Simulation{threads: threads, items: slices.Clone(items), parts: slices.Clone(parts), rest: rest}
	}
	s.rest = min(s.rest, rest)
	for i, part := range parts {
		s.parts[i] = min(s.parts[i], part)
	}
}

// Alone returns how long the work takes on one thread.
func (s *Simulation) Alone() time.Duration {
	return s.sum(func(_ int, parts []time.Duration) float64 { return total(parts) })
}

// Shared returns how long the work takes if the parts of each Do run at the same time.
func (s *Simulation) Shared() time.Duration {
	return s.sum(func(_ int, parts []time.Duration) float64 { return float64(slices.Max(parts)) })
}

// Even returns what Shared would return if all items of a Do took the same time. What disturbs a
// single part then makes no difference.
func (s *Simulation) Even() time.Duration {
	return s.sum(func(items int, parts []time.Duration) float64 {
		busy, workers := 0., len(parts)
		for w, part := range parts {
			if w*items/workers < (w+1)*items/workers { // an empty part takes the time of reading the clock
				busy += float64(part)
			}
		}
		return busy * float64((items+workers-1)/workers) / float64(max(1, items))
	})
}

// sum returns the time outside Do plus the time of all calls of Do, each as computed by of.
func (s *Simulation) sum(of func(items int, parts []time.Duration) float64) time.Duration {
	sum := float64(s.rest)
	for i, items := range s.items {
		sum += of(items, s.parts[i*s.threads:(i+1)*s.threads])
	}
	return time.Duration(sum)
}

func total(parts []time.Duration) float64 {
	sum := time.Duration(0)
	for _, part := range parts {
		sum += part
	}
	return float64(sum)
}

// inTurn runs the parts of a Do one after another on the caller.
func (p *Pool) inTurn(n int, t Task) {
	threads := p.Threads()
	if p == nil || !p.simulated {
		for w := range threads {
			t.Part(w, w*n/threads, (w+1)*n/threads)
		}
		return
	}
	p.simulated = false // a Do inside a part belongs to that part
	begin := clock()
	for w := range threads {
		t.Part(w, w*n/threads, (w+1)*n/threads)
		end := clock()
		p.parts = append(p.parts, end-begin)
		begin = end
	}
	p.items, p.simulated = append(p.items, n), true
}
