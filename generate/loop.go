package generate

import (
	"slices"

	"github.com/pkg/errors"
)

// loop advances all jobs until the generator is closed and no job is left.
func (g *Generator) loop() {
	defer close(g.ended)
	defer g.machine.close()
	free := make([]int, g.Rows())
	for row := range free {
		free[row] = len(free) - 1 - row
	}
	var running []*job
	for {
		for len(free) > 0 {
			j := g.admit()
			if j == nil {
				break
			}
			j.row = free[len(free)-1]
			free = free[:len(free)-1]
			g.machine.cache.Reset(j.row)
			j.start()
			running = append(running, j)
		}
		running = slices.DeleteFunc(running, func(j *job) bool {
			if !j.isOver() && !j.abandoned.Load() {
				return false
			}
			free = append(free, j.row)
			close(j.freed)
			g.release()
			return true
		})
		if len(running) > 0 {
			g.readPrompt(running)
			g.step(running)
			continue
		}
		if g.idle() {
			return
		}
	}
}

// admit returns the next waiting request, nil if there is none.
func (g *Generator) admit() *job {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	j := g.waiting[0]
	g.waiting = slices.Delete(g.waiting, 0, 1)
	return j
}

// release frees the place of a request that has ended.
func (g *Generator) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accepted--
}

// idle waits for a request; it returns true if none will come.
func (g *Generator) idle() bool {
	g.mu.Lock()
	last := g.closed && len(g.waiting) == 0
	some := len(g.waiting) > 0
	g.mu.Unlock()
	if !last && !some {
		<-g.wake
	}
	return last
}

// readPrompt reads the next tokens of the first text that has several left to read.
func (g *Generator) readPrompt(running []*job) {
	for _, j := range running {
		if j.isOver() {
			continue
		}
		j.slide()
		if ids := j.fits(); len(ids) > 1 && g.machine.chunk > 1 {
			n, logits, err := g.machine.read(j.row, ids, j.scoring)
			if err != nil {
				j.end(StopError, errors.Wrap(err, "generate"))
				return
			}
			j.passed(n, logits)
			return
		}
	}
}

// step reads one token of each text that has just one left to read.
func (g *Generator) step(running []*job) {
	var jobs []*job
	var rows []int
	var ids []int32
	for _, j := range running {
		if j.isOver() {
			continue
		}
		j.slide()
		if next := j.fits(); len(next) == 1 || g.machine.chunk == 1 {
			jobs, rows, ids = append(jobs, j), append(rows, j.row), append(ids, next[0])
		}
	}
	if len(jobs) == 0 {
		return
	}
	logits, err := g.machine.step(rows, ids)
	for i, j := range jobs {
		if err != nil {
			j.end(StopError, errors.Wrap(err, "generate"))
			continue
		}
		j.passed(1, logits[i*g.vocab:][:g.vocab])
	}
}
