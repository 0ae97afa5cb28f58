package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/pkg/errors"
)

// peer is another program with which models are compared.
type peer interface {
	// command returns the command that runs a job and exchanges the lines of child.go.
	command(ctx context.Context, j job) *exec.Cmd
}

// script is a Python script next to this file that runs a peer; flag is the flag that names it.
type script struct{ python, file, flag string }

// command returns the command that runs a job, with more arguments.
func (s script) command(ctx context.Context, j job, more ...string) *exec.Cmd {
	args := []string{s.file, cmp.Or(j.file, string(j.Model)), "--serve", "--threads", fmt.Sprint(j.Target.Threads), "--warm-up", fmt.Sprint(warmUpSteps)}
	if j.Text == (Text{}) {
		args = append(args, "--batch", fmt.Sprint(j.Batch))
	} else {
		args = append(args, "--prompt", fmt.Sprint(j.Text.Prompt), "--tokens", fmt.Sprint(j.Text.Tokens), "--after", fmt.Sprint(decodeAfter))
	}
	if j.Target.Precision != "" {
		args = append(args, "--precision", string(j.Target.Precision))
	}
	return exec.CommandContext(ctx, s.python, append(args, more...)...)
}

// exists returns an error if the file, which runs a peer, is missing.
func (s script) exists(peer string) error {
	_, err := os.Stat(s.file)
	if err != nil {
		return errors.Errorf("%s: want the script that runs %s, got %q, which cannot be read: run from the repository's folder", s.flag, peer, s.file)
	}
	return nil
}

// check returns an error if the file is missing, or if the Python of a flag lacks packages, without
// which it does not run the code.
func (s script) check(ctx context.Context, peer, flag, packages, code string) error {
	if err := s.exists(peer); err != nil {
		return err
	}
	if err := s.runs(ctx, code); err != nil {
		return errors.Errorf("%s: want a Python with %s, got %q (%v): docs/speed.md says how to install one", flag, packages, s.python, err)
	}
	return nil
}

// runs returns an error if Python does not run some code.
func (s script) runs(ctx context.Context, code string) error {
	out, err := exec.CommandContext(ctx, s.python, "-c", code).CombinedOutput()
	if err != nil {
		return errors.Errorf("%v %s", err, &tail{out})
	}
	return nil
}
