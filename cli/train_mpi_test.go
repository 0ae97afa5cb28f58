//go:build mpi && linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/trainer"
)

// mpiYAML is a run of two ranks.
const mpiYAML = `
seed: 7
model: {stream: {kind: matrix, dk: 6, dv: 8, rank: 3}, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 24}, layers: 2, seq: 16, dropout: 0.1}
data: {source: files, split: tail/5}
train: {batch: 2, accumulate: 4, steps: 12, lr: 1e-2, eval_every: 6, checkpoint_every: 5, eval_tokens: 64}
sample: {tokens: 5}
device: {threads: 1, ranks: 2, rank_timeout: 3}
`

// launched is a job of the program train.
type launched struct {
	*exec.Cmd
	dir  string
	out  string // the run's folder
	text bytes.Buffer
}

// mpiProgram builds the program train with tags and finds the launcher.
func mpiProgram(t *testing.T, tags string) (program, launcher string) {
	t.Helper()
	launcher = os.Getenv("RESIDUA_MPIEXEC")
	if launcher == "" {
		found, err := exec.LookPath("mpiexec")
		if err != nil {
			t.Skip("no mpiexec: install MPICH or Open MPI, or name one in RESIDUA_MPIEXEC")
		}
		launcher = found
	}
	program = filepath.Join(t.TempDir(), "train")
	built, err := exec.Command("go", "build", "-tags", tags, "-o", program, "../cmd/train").CombinedOutput()
	require.NoError(t, err, string(built))
	return program, launcher
}

// mpiJob prepares a job of some ranks; args follow those that name config, text and folder.
func mpiJob(t *testing.T, yaml, program, launcher string, ranks int, args ...string) *launched {
	t.Helper()
	file, dir := writeRun(t, yaml)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.txt"), bytes.Repeat([]byte("some text to learn. "), 5000), 0o644))
	j := &launched{dir: dir, out: filepath.Join(dir, "run")}
	// Each rank writes its process id before it becomes the program.
	tell := fmt.Sprintf(`echo $$ >%s/new.$$; mv %[1]s/new.$$ %[1]s/pid.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; exec "$@"`, dir)
	command := []string{"-n", strconv.Itoa(ranks)}
	if real, _ := filepath.EvalSymlinks(launcher); filepath.Base(real) == "orterun" {
		command = append(command, "--oversubscribe")
	}
	command = append(command, "sh", "-c", tell, "sh", program, "-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", j.out)
	j.Cmd = exec.Command(launcher, append(command, args...)...)
	j.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	j.Stdout, j.Stderr = &j.text, &j.text
	return j
}

// begin starts the job and waits for its first checkpoint.
func (j *launched) begin(t *testing.T) {
	t.Helper()
	require.NoError(t, j.Start())
	t.Cleanup(func() { _ = j.Process.Kill() })
	require.Eventually(t, func() bool { return checkpoint.Any(j.out) }, time.Minute, 20*time.Millisecond, "no checkpoint")
}

// pid returns a rank's process id.
func (j *launched) pid(t *testing.T, rank int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, fmt.Sprint("pid.", rank)))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid
}

// goOn trains on from the newest checkpoint, which has to be undamaged, by one rank in this
// process.
func (j *launched) goOn(t *testing.T, steps int) {
	t.Helper()
	pid := j.pid(t, 0) // the launcher may end before it, and it has locked the folder
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, 10*time.Second, 10*time.Millisecond, "rank 0 still runs")
	dir, _, err := checkpoint.Latest(j.out)
	require.NoError(t, err)
	require.NoError(t, checkpoint.Verify(dir))
	state, err := checkpoint.ReadState(dir)
	require.NoError(t, err)
	code, _, stderr := runTrain("-config", filepath.Join(j.out, "config.yaml"), "-set", "device.ranks=1", "-set", fmt.Sprint("train.steps=", state.Step+steps), "-resume", "auto")
	require.Zero(t, code, stderr)
}

// TestMPI trains by two processes, which it kills, stops and interrupts.
func TestMPI(t *testing.T) {
	program, launcher := mpiProgram(t, "mpi")
	job := func(t *testing.T, args ...string) *launched { return mpiJob(t, mpiYAML, program, launcher, 2, args...) }
	t.Run("trains", func(t *testing.T) { mpiTrains(t, job(t)) })
	t.Run("interrupt", func(t *testing.T) { mpiInterrupt(t, job(t, "-set", "train.steps=1000000")) })
	for rank := range 2 {
		for name, s := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
			t.Run(fmt.Sprintf("rank %d %s", rank, name), func(t *testing.T) { mpiFault(t, job(t, "-set", "train.steps=1000000"), rank, s) })
		}
	}
}

// otherwise makes rank 1 of a job run a shell command before the program, or instead of it.
func (j *launched) otherwise(do string) {
	script := &j.Args[slices.Index(j.Args, "-c")+1]
	*script = strings.Replace(*script, `exec "$@"`, `if [ ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} = 1 ]; then `+do+`; fi; exec "$@"`, 1)
}

// TestMPIRankFails: if a rank cannot start, or starts another run, the job ends and says why.
func TestMPIRankFails(t *testing.T) {
	program, launcher := mpiProgram(t, "mpi")
	for name, c := range map[string]struct {
		do   string
		want []string
	}{
		"no config":      {`set -- "$1" -config /no/such.yaml`, []string{"rank 1: .*no/such.yaml"}},
		"wrong config":   {`set -- "$@" -set train.steps=-1`, []string{"rank 1: .*train.steps"}},
		"other config":   {`set -- "$@" -set train.lr=2e-2`, []string{`rank 1 \(process \d+ on host \S+\): train.lr: want "0.01" as rank 0 .*, got "0.02"`}},
		"other stream":   {`set -- "$@" -set model.stream.dk=4`, []string{`rank 1 .*: model.stream.dk: want "6" as rank 0 .*, got "4"`}},
		"one rank":       {`set -- "$@" -set device.ranks=1`, []string{`rank 1: device.ranks: want 2, for this process was started as one of 2`}},
		"dry run of one": {`set -- "$@" -dry-run`, []string{`rank 1 .*: -dry-run: want "false" as rank 0 .*, got "true"`}},
		"no text":        {`set -- "$@" -set data.path=/no/such/text`, []string{"rank 1: .*/no/such/text"}},
		"wrong flag":     {`set -- "$@" -no-such-flag`, []string{"-no-such-flag"}},
		"no program":     {`exec sleep 1000`, []string{"waiting for the other ranks of the job to start", "the ranks of the job have not all started within 3s"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := mpiJob(t, mpiYAML, program, launcher, 2)
			j.otherwise(c.do)
			begin := time.Now()
			require.NoError(t, j.Start())
			timer := time.AfterFunc(time.Minute, func() { _ = j.Process.Kill() })
			require.Error(t, j.Wait())
			require.True(t, timer.Stop(), "the job hangs: %s", j.text.String())
			require.Less(t, time.Since(begin), 30*time.Second)
			for _, want := range c.want {
				require.Regexp(t, want, j.text.String())
			}
		})
	}
}

// mpiTrains checks that two ranks print what one prints, once, and have its losses.
func mpiTrains(t *testing.T, j *launched) {
	require.NoError(t, j.Run(), j.text.String())
	require.Equal(t, 1, strings.Count(j.text.String(), "trained 12 steps"), j.text.String())
	require.Equal(t, 1, strings.Count(j.text.String(), "; 2 ranks over "), j.text.String())
	alone := filepath.Join(j.dir, "alone")
	code, _, stderr := runTrain("-config", filepath.Join(j.dir, "tiny.yaml"), "-set", "data.path=["+j.dir+"/text.txt]", "-set", "device.ranks=1", "-out", alone)
	require.Zero(t, code, stderr)
	want, err := trainer.ReadMetrics(alone)
	require.NoError(t, err)
	got, err := trainer.ReadMetrics(j.out)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, float64(want[i].Loss), float64(got[i].Loss), 1e-5, "step %d", i+1)
	}
}

// scaleYAML is the byte RMT of configs/quickstart.yaml, with micro-batches of 16 rows of 256
// tokens.
const scaleYAML = `
model: {preset: quickstart, seq: 256}
data: {source: files, split: tail/5}
train: {batch: 16, accumulate: 2, steps: 4, lr: 1e-3, eval_tokens: 256}
sample: {tokens: 0}
`

// TestMPIScale prints how fast two ranks of one thread train, over the speed of one rank of two
// threads. They take turns, RESIDUA_MPI_ROUNDS times; make mpi-scale runs it on an idle machine of
// two cores.
func TestMPIScale(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("RESIDUA_MPI_ROUNDS"))
	if err != nil {
		t.Skip("RESIDUA_MPI_ROUNDS says how often to measure")
	}
	program, launcher := mpiProgram(t, "mpi")
	var ratios []float64
	for range rounds {
		two := fastest(t, mpiJob(t, scaleYAML, program, launcher, 2, "-set", "device.ranks=2", "-set", "device.threads=1"))
		one := fastest(t, mpiJob(t, scaleYAML, program, launcher, 1, "-set", "device.threads=2"))
		ratios = append(ratios, two/one)
		t.Logf("two ranks of one thread %.0f tokens/s, one rank of two threads %.0f: %.3f", two, one, two/one)
	}
	slices.Sort(ratios)
	t.Logf("median ratio of %d rounds: %.3f", rounds, ratios[len(ratios)/2])
}

// fastest trains and returns the tokens a second of the fastest step.
func fastest(t *testing.T, j *launched) float64 {
	require.NoError(t, j.Run(), j.text.String())
	steps, err := trainer.ReadMetrics(j.out)
	require.NoError(t, err)
	best := 0.0
	for _, m := range steps {
		best = max(best, m.TokensPS)
	}
	return best
}

// mpiFault kills or stops a rank while it trains: the job ends within the timeout, with an exit
// code that is not 0; the other rank names one that was stopped; the last checkpoint is good.
func mpiFault(t *testing.T, j *launched, rank int, s syscall.Signal) {
	j.begin(t)
	require.NoError(t, syscall.Kill(j.pid(t, rank), s))
	hit := time.Now()
	require.Error(t, j.Wait(), j.text.String())
	require.Less(t, time.Since(hit), 10*time.Second)
	if s == syscall.SIGSTOP {
		// Between the two there may be what the other rank was doing, such as saving.
		require.Regexp(t, fmt.Sprintf(`error: rank %d: .*rank %d \(process \d+ on host \S+\) has been silent for 3`, 1-rank, rank), j.text.String())
	}
	j.goOn(t, 2)
}

// mpiInterrupt interrupts one rank: both finish the step, rank 0 saves it, and the job ends well.
func mpiInterrupt(t *testing.T, j *launched) {
	j.begin(t)
	require.NoError(t, syscall.Kill(j.pid(t, 1), syscall.SIGINT))
	require.NoError(t, j.Wait(), j.text.String())
	require.Equal(t, 1, strings.Count(j.text.String(), "interrupted after step "), j.text.String())
	j.goOn(t, 2)
}
