// Package crash tests that work which is interrupted at any step of its disk can be completed by
// calling it again. The work runs in the test's process. At some steps the folder is copied; the
// copy is what a process that died at that step would have left. A seed chooses the steps, so that
// a campaign can be repeated exactly.
package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// variable is the environment variable with a campaign's seed, and the number of points to try for
// each work and kind, as in 7:1000.
const variable = "RESIDUA_ROBUSTNESS"

// Work writes a folder. A second call goes on with what the first has left.
type Work struct {
	Name  string
	Begin func(folder string) // makes what the folder holds before; nil: the folder does not exist
	Do    func(folder string, disk checkpoint.Disk) error
	Left  func(folder string) map[string]string // what must be the same as without interruption
	Check func(folder string) error             // of what an interruption has left, before the second call; nil: not checked
	// Others is a folder inside the work's folder that Do lets another disk write, as an experiment
	// does for its runs. Flushes of that disk are not seen, so all that the folder holds counts as
	// flushed.
	Others string
}

// Kind is what happens at a step.
type Kind string

// What happens at a step. The first four end the process, the last two do not.
const (
	Before   Kind = "before"   // it dies before the step
	After    Kind = "after"    // it dies after the step
	Half     Kind = "half"     // it dies when half of a write, or of the removal of a folder, is done
	Unsynced Kind = "unsynced" // the machine stops before the step: what was not flushed may be lost
	Fails    Kind = "fails"    // the step fails
	Full     Kind = "full"     // it and all further steps fail
)

var kinds = []Kind{Before, After, Half, Unsynced, Fails, Full}

// campaign is what Test does with one work.
type campaign struct {
	Work
	t     *testing.T
	steps []string // steps of the uninterrupted work
	whole map[string]string
	count map[Kind]int
	again int // deaths of second calls
}

// Test tries points of each kind, at steps that a seed decides: the given number, or what the
// environment says. After each, a further call must leave what an uninterrupted call leaves.
// Some of these further calls die, too.
func Test(t *testing.T, w Work, points int) {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv(variable); text != "" {
		_, err := fmt.Sscanf(text, "%d:%d", &seed, &points)
		require.NoError(t, err, "%s: want SEED:POINTS, got %q", variable, text)
	}
	c := &campaign{Work: w, t: t, count: map[Kind]int{}}
	folder := c.start()
	require.NoError(t, w.Do(folder, checkpoint.Disk{Before: func(step, _ string) error {
		c.steps = append(c.steps, step)
		return nil
	}}))
	c.whole = w.Left(folder)
	require.NotEmpty(t, c.steps)
	draw := rand.New(rand.NewPCG(seed, uint64(len(w.Name))))
	for _, kind := range kinds {
		possible := c.possible(kind)
		for done := 0; done < points && len(possible) > 0; {
			at := map[int]bool{}
			for range min(points-done, len(possible), 64) { // as many from one call of the work
				at[possible[draw.IntN(len(possible))]] = true
			}
			done += len(at)
			if kind == Fails || kind == Full {
				c.fail(kind, at)
			} else {
				c.die(kind, at, draw)
			}
		}
	}
	for _, kind := range kinds {
		t.Logf("robustness|%s|%s|%d", w.Name, kind, c.count[kind])
	}
	t.Logf("robustness|%s|again|%d", w.Name, c.again)
}

// possible lists the steps at which a kind can happen.
func (c *campaign) possible(kind Kind) (all []int) {
	for i, step := range c.steps {
		if kind != Half || step == "write" || step == "remove" {
			all = append(all, i)
		}
	}
	return all
}

// start returns a folder with what the work begins with.
func (c *campaign) start() string {
	base, err := os.MkdirTemp(c.t.TempDir(), "")
	require.NoError(c.t, err)
	folder := filepath.Join(base, "work")
	if c.Begin != nil {
		c.Begin(folder)
	}
	return folder
}

// die does the work once, and goes on with what a death at each of the given steps leaves.
func (c *campaign) die(kind Kind, at map[int]bool, draw *rand.Rand) {
	c.t.Helper()
	folder := c.start()
	var steps []string
	r := c.recorder(filepath.Dir(folder), draw)
	r.kind, r.at = kind, func(n int, step string) bool {
		steps = append(steps, step)
		return at[n]
	}
	require.NoError(c.t, c.Do(folder, r.disk()))
	r.end()
	require.Equal(c.t, c.steps, steps, "the work takes the same steps each time")
	for _, d := range r.deaths {
		c.count[kind]++
		c.goesOn(d, draw, draw.IntN(4) == 0)
	}
	c.remove(folder)
}

// recorder returns a recorder of the work in base.
func (c *campaign) recorder(base string, draw *rand.Rand) *recorder {
	r := newRecorder(c.t, base, draw)
	if c.Others != "" {
		r.others = filepath.Join("work", c.Others)
	}
	return r
}

// goesOn calls the work again in the folder that a death has left, and compares the results. With
// dies set, this second call dies, too, and goesOn goes on from there.
func (c *campaign) goesOn(d death, draw *rand.Rand, dies bool) {
	c.t.Helper()
	folder := filepath.Join(d.base, "work")
	c.check(folder, d.what)
	disk := checkpoint.Disk{}
	var r *recorder
	if dies {
		r = c.recorder(d.base, draw)
		at := draw.IntN(len(c.steps))
		r.kind, r.at = []Kind{Before, After, Unsynced}[draw.IntN(3)], func(n int, _ string) bool { return n == at }
		disk = r.disk()
	}
	c.finish(folder, disk, d.what)
	if r == nil {
		return
	}
	r.end()
	for _, second := range r.deaths {
		c.again++
		second.what = d.what + "; then " + second.what
		c.goesOn(second, draw, false)
	}
}

// FullAfter returns a disk on which a number of steps succeed and all later ones fail.
func FullAfter(steps int) checkpoint.Disk { return failing(func(n int) bool { return n >= steps }) }

// failing returns a disk on which the steps for which fails is true fail.
func failing(fails func(n int) bool) checkpoint.Disk {
	n := -1
	return checkpoint.Disk{Before: func(step, path string) error {
		if n++; fails(n) {
			return &fs.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
		}
		return nil
	}}
}

// fail does the work on a disk that fails at a step, and then on one that does not.
func (c *campaign) fail(kind Kind, at map[int]bool) {
	c.t.Helper()
	for point := range at {
		folder := c.start()
		what := fmt.Sprintf("step %d, %s, %s", point, c.steps[point], kind)
		err := c.Do(folder, failing(func(n int) bool { return n == point || kind == Full && n > point }))
		if err != nil {
			require.NotContains(c.t, err.Error(), "\n", what)
		}
		c.count[kind]++
		c.check(folder, what)
		c.finish(folder, checkpoint.Disk{}, what)
	}
}

func (c *campaign) check(folder, what string) {
	c.t.Helper()
	if c.Check != nil {
		require.NoError(c.t, c.Check(folder), what)
	}
}

// finish does the work in a folder, and removes it.
func (c *campaign) finish(folder string, disk checkpoint.Disk, what string) {
	c.t.Helper()
	require.NoError(c.t, c.Do(folder, disk), what)
	got := c.Left(folder)
	require.Equal(c.t, slices.Sorted(maps.Keys(c.whole)), slices.Sorted(maps.Keys(got)), what)
	for name, want := range c.whole {
		require.True(c.t, want == got[name], "%s: %s: want %.300q, got %.300q", what, name, want, got[name])
	}
	if disk.Before == nil {
		c.remove(folder)
	}
}

func (c *campaign) remove(folder string) { require.NoError(c.t, os.RemoveAll(filepath.Dir(folder))) }

// Contents returns the contents of all files in a folder, by their paths in it. The folder's own
// path in a text becomes OUT.
func Contents(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[filepath.ToSlash(name)] = strings.ReplaceAll(string(content), folder, "OUT")
		return err
	}))
	return all
}
