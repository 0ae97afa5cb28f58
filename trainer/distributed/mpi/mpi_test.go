//go:build mpi && linux

package mpi

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer/distributed"
)

func values(rank, n int) []float32 {
	r := rand.New(rand.NewPCG(uint64(rank), 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// collectives adds and gathers vectors of several lengths, several at a time.
func collectives(g *distributed.Group) error {
	if g.Rank() == 0 {
		println("library:", g.Name())
	}
	if err := recovers(); err == nil {
		return errors.New("a nil pointer: want a panic, got none")
	}
	var vectors [][]float32
	var pending []*distributed.Pending
	for _, n := range []int{1, 2, 1000, 70001, 3, 1 << 20} {
		x := values(g.Rank(), n)
		vectors = append(vectors, x)
		pending = append(pending, distributed.AllReduce(g, "sum", x))
	}
	for i, p := range pending {
		if err := p.Wait(); err != nil {
			return err
		}
		want := values(0, len(vectors[i]))
		for r := 1; r < g.Size(); r++ {
			for i, v := range values(r, len(want)) {
				want[i] += v
			}
		}
		for k := range want {
			if vectors[i][k] != want[k] {
				return errors.Errorf("sum of %d: number %d: want %v, got %v", len(want), k, want[k], vectors[i][k])
			}
		}
	}
	id := []byte("not the root's")
	if g.Rank() == 1 {
		id = []byte("is of the root")
	}
	if err := distributed.Broadcast(g, "id", 1, id).Wait(); err != nil {
		return err
	}
	if string(id) != "is of the root" {
		return errors.Errorf("broadcast: got %q", id)
	}
	return distributed.Agree(g, []distributed.Fact{{Name: "config", Value: "same"}})
}

// recovers reads from a nil pointer, which Go handles by a signal.
func recovers() (err error) {
	defer func() { err, _ = recover().(error) }()
	var nothing *distributed.Fact
	_ = nothing.Name
	return nil
}

func TestCollectives(t *testing.T) {
	for _, env := range []string{"", "LARGEST=1000"} { // whole messages, and cut ones
		for _, n := range []int{2, 3} {
			out, err := launch(t, n, "collectives", env).wait()
			require.NoError(t, err, out)
			_, library, _ := strings.Cut(out, "library: ")
			t.Log(strings.TrimSpace(library))
			if want := os.Getenv("RESIDUA_MPI_WANT"); want != "" {
				require.Contains(t, library, want)
			}
		}
	}
}

// A rank that returns an error prints it and ends the job.
func TestErrorOfARankEndsTheJob(t *testing.T) {
	out, err := launch(t, 2, "error").wait()
	require.Error(t, err, out)
	require.Contains(t, out, "rank 1: no more disk")
}

func TestDisagree(t *testing.T) {
	out, err := launch(t, 2, "disagree").wait()
	require.Error(t, err)
	require.Contains(t, out, `config: want "config 0" as rank 0 (process `)
}

func TestDifferentLengths(t *testing.T) {
	out, err := launch(t, 2, "lengths").wait()
	require.Error(t, err)
	require.Contains(t, out, "rank 1: parameters: receiving from rank 0 (process ")
}

// steps is a loop as training has it: gradients are added, then parameters gathered.
func steps(g *distributed.Group) error {
	announce(g)
	x := make([]float32, 1<<18)
	for step := range 100000 {
		sum := distributed.AllReduce(g, "gradients", x)
		if step%10 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if err := sum.Wait(); err != nil {
			return err
		}
	}
	return errors.New("want a fault, got none")
}

// compute leaves rank 1 alone with its work for longer than the timeout.
func compute(g *distributed.Group) error {
	announce(g)
	if g.Rank() == 1 {
		for begun := time.Now(); time.Since(begun) < 2*timeout; {
		}
	}
	return distributed.Barrier(g, "checkpoint").Wait()
}

// A rank that computes for longer than the timeout is waited for.
func TestSlowRankIsWaitedFor(t *testing.T) {
	out, err := launch(t, 2, "compute").wait()
	require.NoError(t, err, out)
}

// Each rank is stopped, or killed, while the ranks exchange gradients, and while rank 1 computes.
// The job ends soon after the timeout; a rank that was stopped is named by the other.
func TestFaults(t *testing.T) {
	for _, scenario := range []string{"steps", "compute"} {
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for victim := range 2 {
				name := scenario + " " + signal.String() + " " + strconv.Itoa(victim)
				t.Run(name, func(t *testing.T) { fault(t, scenario, signal, victim) })
			}
		}
	}
}

func fault(t *testing.T, scenario string, signal syscall.Signal, victim int) {
	j := launch(t, 2, scenario)
	var processes [2]int
	for range processes {
		rank, process, _ := strings.Cut(j.line(t, "process of rank "), ": ")
		r, err := strconv.Atoi(rank)
		require.NoError(t, err)
		processes[r], err = strconv.Atoi(process)
		require.NoError(t, err)
	}
	time.Sleep(300 * time.Millisecond)
	begun := time.Now()
	require.NoError(t, syscall.Kill(processes[victim], signal))
	out, err := j.wait()
	require.Error(t, err, out)
	require.Less(t, time.Since(begun), 4*timeout, out) // rank 1 computes for twice the timeout before it waits
	if signal == syscall.SIGSTOP {
		require.Contains(t, out, "rank "+strconv.Itoa(1-victim)+": rank "+strconv.Itoa(victim)+" (process "+strconv.Itoa(processes[victim])+" on host ")
		require.Contains(t, out, "has been silent for ")
		what := map[string]string{"steps0": "gradients", "steps1": "gradients", "compute0": "end of the job", "compute1": "checkpoint"}[scenario+strconv.Itoa(victim)]
		require.Contains(t, out, `while this rank waited for "`+what+`"`)
	}
	for _, p := range processes { // no process is left
		require.Eventually(t, func() bool { return syscall.Kill(p, 0) == syscall.ESRCH || zombie(p) }, 5*time.Second, 10*time.Millisecond, "process %d", p)
	}
}

// zombie tells whether a process has ended and nobody has asked for its exit code.
func zombie(process int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/stat")
	return err != nil || strings.Contains(string(text), ") Z ")
}
