//go:build mpi && linux

package mpi

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer/distributed"
)

const (
	scenarioVariable = "RESIDUA_MPI_SCENARIO" // makes the test's program a rank
	launcherVariable = "RESIDUA_MPIEXEC"      // the mpiexec of the tests; the first in PATH without it
	timeout          = 2 * time.Second
)

// TestMain runs a scenario in the processes that a test has launched.
func TestMain(m *testing.M) {
	if name := os.Getenv(scenarioVariable); name != "" {
		os.Exit(rank(name))
	}
	os.Exit(m.Run())
}

// rank is the program of a rank. It ends as training does: a rank that has an error prints it and
// ends the job.
func rank(scenario string) int {
	t, err := Open()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if n, err := strconv.Atoi(os.Getenv("LARGEST")); err == nil {
		t.(*transport).largest = n
	}
	g, err := distributed.New(t, distributed.Options{Timeout: timeout})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err = scenarios[scenario](g); err == nil {
		err = g.Close()
	}
	if err != nil {
		fmt.Printf("rank %d: %v\n", g.Rank(), err)
		g.Abort(3)
		return 3
	}
	time.Sleep(time.Duration(g.Rank()) * 200 * time.Millisecond) // a rank may end long after another
	return 0
}

// job is a launcher with its ranks, whose lines are read.
type job struct {
	command *exec.Cmd
	lines   chan string
	text    strings.Builder // all that was read
	stop    func() bool
}

// launch starts n ranks of a scenario.
func launch(t *testing.T, n int, scenario string, env ...string) *job {
	launcher := os.Getenv(launcherVariable)
	if launcher == "" {
		found, err := exec.LookPath("mpiexec")
		if err != nil {
			t.Skip("no mpiexec: install MPICH or Open MPI, or name one in " + launcherVariable)
		}
		launcher = found
	}
	args := []string{"-n", strconv.Itoa(n)}
	if real, _ := filepath.EvalSymlinks(launcher); filepath.Base(real) == "orterun" {
		args = append(args, "--oversubscribe")
	}
	command := exec.Command(launcher, append(args, os.Args[0])...)
	command.Env = append(os.Environ(), scenarioVariable+"="+scenario, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	command.Env = append(command.Env, env...)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = command.Stdout
	require.NoError(t, command.Start())
	j := &job{command: command, lines: make(chan string, 1000)}
	j.stop = time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() }).Stop
	go func() {
		defer close(j.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			j.lines <- lines.Text()
		}
	}()
	return j
}

// line returns the next line that begins with a prefix, without it.
func (j *job) line(t *testing.T, prefix string) string {
	for line := range j.lines {
		fmt.Fprintln(&j.text, line)
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest
		}
	}
	t.Fatalf("no line %q in:\n%s", prefix, j.text.String())
	return ""
}

// wait returns everything that the job has printed, and its error.
func (j *job) wait() (string, error) {
	for line := range j.lines {
		fmt.Fprintln(&j.text, line)
	}
	defer j.stop()
	return j.text.String(), j.command.Wait()
}

// scenarios are what ranks do.
var scenarios = map[string]func(g *distributed.Group) error{
	"collectives": collectives,
	"steps":       steps,
	"compute":     compute,
	"error": func(g *distributed.Group) error {
		if g.Rank() == 1 {
			return errors.New("no more disk")
		}
		return distributed.Barrier(g, "barrier").Wait()
	},
	"disagree": func(g *distributed.Group) error {
		return distributed.Agree(g, []distributed.Fact{{Name: "config", Value: fmt.Sprint("config ", g.Rank())}})
	},
	"lengths": func(g *distributed.Group) error {
		x := make([]float32, 9-g.Rank()) // the owner sends more than rank 1 wants, or less
		return distributed.AllGather(g, "parameters", []distributed.Piece[float32]{{Data: x, Owner: 0}}).Wait()
	},
}

// announce prints a rank's process id, for the test to stop or kill it.
func announce(g *distributed.Group) { fmt.Printf("process of rank %d: %d\n", g.Rank(), os.Getpid()) }
