package distributed

import (
	"strconv"

	"github.com/pkg/errors"
)

// launchers are the environment variables in which launchers tell a process how many processes
// they have started. PMIx has no such variable, but srun sets its own.
var launchers = []string{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}

// Launched returns how many processes a launcher says that it has started, this one among them, and
// the variable that says it; 1 without a launcher. getenv is os.Getenv except in tests.
func Launched(getenv func(string) string) (processes int, variable string) {
	for _, name := range launchers {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n > 1 {
			return n, name
		}
	}
	return 1, ""
}

// CheckLauncher returns an error if a process that is to run alone was started by a launcher
// as one of several, which would all do the same work and write to the same files.
func CheckLauncher(ranks int, getenv func(string) string) error {
	if n, name := Launched(getenv); ranks == 1 && n > 1 {
		return errors.Errorf("device.ranks: want %d, for this process was started as one of %d (%s=%d), got 1: add -set device.ranks=%d, or start it "+
			"without the launcher", n, n, name, n, n)
	}
	return nil
}

// CheckSize returns an error if a job does not have the number of ranks that the config wants.
// A launcher that does not know the MPI library of the processes may start N jobs of one rank
// each.
func CheckSize(ranks int, g *Group) error {
	if g.size == ranks {
		return nil
	}
	return errors.Errorf("device.ranks: want %d, the number of ranks that %s sees, got %d: start the program by `mpiexec -n %d`, with the "+
		"mpiexec of that library", g.size, g.Name(), ranks, ranks)
}
