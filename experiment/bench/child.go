package bench

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// Each model is measured in a separate process, so that their memory does not add up and no caches
// are warm by chance. The processes of one comparison exist at the same time and take turns. Parent
// and child exchange lines; the scripts next to it use the same protocol:
//
//	child -> parent   {"facts": ...}                              after its warm-up
//	parent -> child   5                                           run 5 steps
//	child -> parent   {"seconds": [...], "loss": ..., "peak_bytes": ...}
//
// The child ends when its input does. An error in the child is a line {"error": ...}.

// childVariable is an environment variable that makes this program a child; its value is a job.
const childVariable = "RESIDUA_BENCH_JOB"

// IsChild tells whether this process was started to measure one model for a Bench.
func IsChild() bool { return os.Getenv(childVariable) != "" }

// RunChild is the main function of such a process, for models with the designs of a zoo. It returns
// the exit code.
func RunChild(zoo models.Zoo, in io.Reader, out io.Writer) int {
	return runJob(zoo, os.Getenv(childVariable), in, out)
}

// runJob runs a job, given as JSON, until its input ends.
func runJob(zoo models.Zoo, text string, in io.Reader, out io.Writer) int {
	answers := json.NewEncoder(out)
	if err := serve(zoo, text, in, answers); err != nil {
		_ = answers.Encode(reply{Error: err.Error()})
		return 1
	}
	return 0
}

// job is what a child is to train, or to generate with.
type job struct {
	Implementation string          `json:"implementation"`
	Name           string          `json:"name"`
	Model          json.RawMessage `json:"model"` // a config
	Batch          int             `json:"batch"`
	ZLoss          float64         `json:"z_loss"`
	Optim          string          `json:"optim,omitempty"`
	Text           Text            `json:"text,omitzero"`
	Target         Target          `json:"target"`

	config  models.Config // Model, parsed
	peer    peer          // the program that runs it; nil: this program
	file    string        // what the peer opens instead of Model
	weights string        // the type in which weights are stored; "" for a job that trains
}

// title returns the job's name in messages.
func (j job) title() string {
	if j.weights != "" {
		return implementationName(j.Implementation) + " " + j.weights + " " + j.Name
	}
	return implementationName(j.Implementation) + " " + j.Name
}

// compiled tells whether PyTorch or JAX runs the job, which means that the model is compiled
// first.
func (j job) compiled() bool { return j.peer != nil && j.Implementation != llamaCPP }

// job returns the job that runs a workload by an implementation.
func (b *Bench) job(implementation string, w Workload) job {
	j := job{Implementation: implementation, Name: w.Name, Batch: w.Batch, ZLoss: w.ZLoss, Optim: w.Optim, Text: w.Text, Target: b.o.Target, config: w.Spec.Config}
	switch implementation {
	case residua, generation:
	case jaxOnXLA:
		j.peer = b.o.JAX
	case llamaCPP:
		j.peer = b.o.LlamaCPP
	default:
		j.peer = b.o.PyTorch
	}
	return j
}

// encoded returns the job with its model as JSON.
func (j job) encoded() (job, error) {
	model, err := json.Marshal(j.config)
	j.Model = model
	return j, errors.WithStack(err)
}

// workload returns what a job is to run.
func (j job) workload(zoo models.Zoo) (Workload, error) {
	c, err := zoo.Unmarshal(j.Model)
	if err != nil {
		return Workload{}, err
	}
	spec, err := c.Resolve()
	return Workload{Name: j.Name, Spec: spec, Batch: j.Batch, ZLoss: j.ZLoss, Optim: j.Optim, Text: j.Text}, err
}

// reply is a line from a child.
type reply struct {
	Facts   *facts    `json:"facts,omitempty"`
	Seconds []float64 `json:"seconds,omitempty"` // one for each step
	Loss    float64   `json:"loss,omitempty"`    // loss of the last step
	Peak    int       `json:"peak_bytes,omitempty"`
	Tokens  []float64 `json:"token_seconds,omitempty"` // for generation, for each step: the time of a decoded token
	Error   string    `json:"error,omitempty"`
}

// warmUpSteps is the number of steps that are not measured: the first one allocates buffers, or
// compiles.
const warmUpSteps = 2

func serve(zoo models.Zoo, text string, in io.Reader, answers *json.Encoder) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return errors.Wrapf(err, "%s: want a job as JSON", childVariable)
	}
	w, err := j.workload(zoo)
	if err != nil {
		return err
	}
	trained, err := newImplementation(j.Implementation, w, j.Target)
	if err != nil {
		return err
	}
	defer trained.close()
	if _, err := timed(trained, warmUpSteps); err != nil {
		return err
	}
	about := trained.facts()
	if err := answers.Encode(reply{Facts: &about}); err != nil {
		return errors.WithStack(err)
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			return errors.Errorf("want a number of steps, got %q", lines.Text())
		}
		r, err := timed(trained, n)
		if err != nil {
			return err
		}
		if err := answers.Encode(r); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}

// timed runs n steps and measures them.
func timed(i implementation, n int) (reply, error) {
	var r reply
	for range n {
		begin := time.Now()
		loss, err := i.step()
		if err != nil {
			return reply{}, err
		}
		r.Seconds = append(r.Seconds, time.Since(begin).Seconds())
		r.Loss = loss
		if g, ok := i.(*generationRun); ok {
			seconds, err := g.decode()
			if err != nil {
				return reply{}, err
			}
			r.Tokens = append(r.Tokens, seconds)
		}
	}
	var err error
	r.Peak, err = i.peak()
	return r, err
}
