package tour

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/regular"
)

const (
	planFile   = "tour.json"
	reportFile = "report.html"
)

// plan is what a tour's folder keeps for a call to go on with after an interrupt.
type plan struct {
	Data  string `json:"data"` // of the call, as are the next two
	Time  string `json:"time"`
	Seed  uint64 `json:"seed"`
	Size  int    `json:"size"`  // index in sizes
	Steps int    `json:"steps"` // 0: not chosen yet
}

// begin makes the folder of the tour, or reads the plan of an interrupted one with the same
// arguments from it. It locks the folder.
func (c *call) begin(out commandline.Output) (p plan, err error) {
	p = plan{Data: c.Data, Time: c.Time.String(), Seed: c.Seed}
	entries, err := os.ReadDir(c.Out)
	if errors.Is(err, os.ErrNotExist) {
		err = checkpoint.Disk{}.MakeFolder(c.Out)
		if err == nil {
			c.unlock, err = checkpoint.Lock(c.Out)
		}
		if err == nil {
			err = c.keep(p)
		}
		return p, errors.Wrap(err, "-out")
	}
	if err != nil {
		return p, commandline.Usage(errors.Wrap(err, "-out"))
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	}
	if !has(planFile) || has(reportFile) {
		return p, commandline.Usagef("-out: want a folder that does not exist yet, or an interrupted tour's, got %s: remove it, or choose another", c.Out)
	}
	if c.unlock, err = checkpoint.Lock(c.Out); err != nil {
		return p, errors.Wrap(err, "-out")
	}
	text, err := regular.Read(filepath.Join(c.Out, planFile), 1<<16)
	if err != nil {
		return p, err
	}
	kept := plan{}
	if err := json.Unmarshal(text, &kept); err != nil || kept.Size < 0 || kept.Size >= len(sizes) || kept.Steps < 0 {
		return p, errors.Errorf("%s: want the plan of an interrupted tour, got another text: remove the folder to begin again", filepath.Join(c.Out, planFile))
	}
	if kept.Data != p.Data || kept.Time != p.Time || kept.Seed != p.Seed {
		return p, commandline.Usagef("-out: want the arguments with which the tour in %s was begun (-data %q -time %s -seed %d) to go on with it, got "+
			"others: use those, or remove the folder to begin again",
			c.Out, kept.Data, kept.Time, kept.Seed)
	}
	out.Note(fmt.Sprintf("goes on with the tour in %s", c.Out))
	return kept, nil
}

// keep writes the plan.
func (c *call) keep(p plan) error {
	text, err := json.Marshal(p)
	if err != nil {
		return errors.WithStack(err)
	}
	return checkpoint.Disk{}.WriteFile(filepath.Join(c.Out, planFile), append(text, '\n'))
}

// leaveNothing removes what a tour has made so far, because the tour cannot begin.
func (c *call) leaveNothing() {
	_ = os.RemoveAll(c.textFolder())
	_ = os.Remove(filepath.Join(c.Out, planFile))
	c.release()
	_ = os.Remove(filepath.Join(c.Out, checkpoint.LockName))
	_ = os.Remove(c.Out)
}

// release unlocks the tour's folder, if it is locked.
func (c *call) release() {
	if c.unlock != nil {
		_ = c.unlock() // the lock ends with the process, too
	}
}
