package train

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
	"github.com/residua-go/residua/trainer/distributed"
	"github.com/residua-go/residua/trainer/distributed/mpi"
)

// job is this process's place among those that train one run.
type job struct {
	group *distributed.Group // nil: it trains alone
}

// join joins the other ranks, if the config or a launcher says that there are several. failed is
// the error with which the config was read, or nil. The other ranks wait for this one, so join
// first joins them, if it can. Only then does it return failed or an error of its own, which then
// ends the job.
func (c *call) join(run *runconfig.Run, failed error, out commandline.Output) (job, error) {
	launched, _ := distributed.Launched(os.Getenv)
	var device runconfig.Device
	if failed == nil {
		device = run.Device
		failed = commandline.Usage(distributed.CheckLauncher(device.Ranks, os.Getenv))
	}
	if launched == 1 && (failed != nil || device.Ranks == 1 || c.DryRun) {
		return job{}, failed
	}
	transport, err := mpi.Open()
	if err != nil {
		return job{}, cmp.Or(failed, commandline.Usage(errors.Wrapf(err, "device.ranks of %d", device.Ranks)))
	}
	g, err := distributed.New(transport, distributed.Options{Timeout: time.Duration(device.RankTimeout * float64(time.Second)), Note: out.Note})
	if err != nil {
		if err = cmp.Or(failed, err); g != nil {
			err = commandline.EndingWith(err, g.Abort)
		}
		return job{}, err
	}
	j := job{g}
	return j, j.fail(failed)
}

// String says how many ranks train, "" for one.
func (j job) String() string {
	if j.group == nil {
		return ""
	}
	return fmt.Sprintf("; %d ranks over %s", j.group.Size(), j.group.Name())
}

// leads tells whether this process reports what the run does.
func (j job) leads() bool { return j.group == nil || j.group.Rank() == 0 }

// fail makes an error of this rank end the job once it is reported, because the others would wait
// for it. It returns nil for nil.
func (j job) fail(err error) error {
	var together *trainer.DivergedError
	switch {
	case j.group == nil || err == nil:
		return err
	case errors.As(err, &together): // all ranks return it
		return j.end(err)
	}
	return commandline.EndingWith(errors.Wrapf(err, "rank %d", j.group.Rank()), j.group.Abort)
}

// end leaves the job when all ranks do, and returns err.
func (j job) end(err error) error {
	if j.group == nil {
		return err
	}
	if left := j.group.Close(); left != nil && err == nil {
		err = commandline.EndingWith(errors.Wrapf(left, "rank %d", j.group.Rank()), j.group.Abort)
	}
	return err
}
