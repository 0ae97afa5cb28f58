package train

import (
	"fmt"
	"os"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/distributed"
	"github.com/residua-go/residua/distributed/mpi"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// job is this process's place among those that train one run.
type job struct {
	group *distributed.Group // nil: it trains alone
}

// join joins the other ranks, if the config wants several.
func join(run *runconfig.Run) (job, error) {
	if err := distributed.CheckLauncher(run.Device.Ranks, os.Getenv); err != nil {
		return job{}, commandline.Usage(err)
	}
	if run.Device.Ranks == 1 {
		return job{}, nil
	}
	transport, err := mpi.Open()
	if err != nil {
		return job{}, commandline.Usage(errors.Wrapf(err, "device.ranks of %d", run.Device.Ranks))
	}
	g, err := distributed.New(transport, distributed.Options{Timeout: time.Duration(run.Device.RankTimeout * float64(time.Second))})
	if err != nil && g != nil {
		err = commandline.EndingWith(err, g.Abort)
	}
	return job{g}, err
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
