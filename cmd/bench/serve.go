package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// Each model is measured in a process of its own, so that memory does not add up and
// nothing is warm by chance. The processes of one comparison live side by side and take
// turns. Parent and child talk in lines; PyTorch's side speaks the same:
//
//	child -> parent   {"facts": ...}                              after its warm-up
//	parent -> child   5                                           make 5 steps
//	child -> parent   {"seconds": [...], "loss": ..., "peak_bytes": ...}
//
// The child ends when its input does. What goes wrong in it is a line {"error": ...}.

// childVariable, in the environment, makes this program a child; its value is an order.
const childVariable = "RESIDUA_BENCH_CHILD"

// order tells a child what to train.
type order struct {
	Implementation string          `json:"implementation"`
	Name           string          `json:"name"`
	Model          json.RawMessage `json:"model"` // a config
	Batch          int             `json:"batch"`
	ZLoss          float64         `json:"z_loss"`
	Target         target          `json:"target"`
	WarmUp         int             `json:"warm_up"` // steps that are not timed
}

// newOrder is the order to train a workload.
func newOrder(implementation string, w workload, on target, warmUp int) (order, error) {
	model, err := json.Marshal(w.Spec.Config)
	return order{implementation, w.Name, model, w.Batch, w.ZLoss, on, warmUp}, errors.WithStack(err)
}

// workload is what an order is to train.
func (o order) workload(zoo models.Zoo) (workload, error) {
	c, err := zoo.Unmarshal(o.Model)
	if err != nil {
		return workload{}, err
	}
	spec, err := c.Resolve()
	return workload{Name: o.Name, Spec: spec, Batch: o.Batch, ZLoss: o.ZLoss}, err
}

// reply is a line from a child.
type reply struct {
	Facts   *facts    `json:"facts,omitempty"`
	Seconds []float64 `json:"seconds,omitempty"` // one a step
	Loss    float64   `json:"loss,omitempty"`    // of the last step
	Peak    int       `json:"peak_bytes,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// serve is the life of a child. The exit code is that of its process.
func serve(zoo models.Zoo, text string, in io.Reader, out io.Writer) int {
	answers := json.NewEncoder(out)
	if err := obey(zoo, text, in, answers); err != nil {
		_ = answers.Encode(reply{Error: err.Error()})
		return 1
	}
	return 0
}

func obey(zoo models.Zoo, text string, in io.Reader, answers *json.Encoder) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return errors.Wrapf(err, "%s: want an order as JSON", childVariable)
	}
	w, err := o.workload(zoo)
	if err != nil {
		return err
	}
	c, err := newContestant(o.Implementation, w, o.Target)
	if err != nil {
		return err
	}
	defer c.close()
	if _, err := timed(c, o.WarmUp); err != nil {
		return err
	}
	about := c.facts()
	if err := answers.Encode(reply{Facts: &about}); err != nil {
		return errors.WithStack(err)
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			return errors.Errorf("want a number of steps, got %q", lines.Text())
		}
		r, err := timed(c, n)
		if err != nil {
			return err
		}
		if err := answers.Encode(r); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}

// timed makes n steps.
func timed(c contestant, n int) (reply, error) {
	var r reply
	for range n {
		begin := time.Now()
		loss, err := c.step()
		if err != nil {
			return reply{}, err
		}
		r.Seconds = append(r.Seconds, time.Since(begin).Seconds())
		r.Loss = loss
	}
	var err error
	r.Peak, err = c.peak()
	return r, err
}
