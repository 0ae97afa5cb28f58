package kernel

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// goCommand runs go in the kernel's module.
type goCommand struct {
	name string // name of the program
	dir  string
}

// build builds packages and calls progress for each that has to be compiled.
func (g goCommand) build(ctx context.Context, progress func(done, total int), args ...string) error {
	stale, err := g.output(ctx, append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, args...)...)
	if err != nil {
		return err
	}
	names := strings.Fields(string(stale))
	done := 0
	_, err = g.run(ctx, func(line string) bool {
		if !slices.Contains(names, line) {
			return false
		}
		progress(done, len(names))
		done++
		return true
	}, append([]string{"build", "-v", "-o", os.DevNull}, args...)...)
	return err
}

// output runs go and returns what it prints; the error has its first complaint.
func (g goCommand) output(ctx context.Context, args ...string) ([]byte, error) {
	return g.run(ctx, func(string) bool { return false }, args...)
}

// run runs go and returns what it prints. It asks known about each line on standard error: those
// that are unknown may be the complaint.
func (g goCommand) run(ctx context.Context, known func(string) bool, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, g.name, args...)
	command.Dir = g.dir
	// Only here may go.mod be completed; the user's workspace is ignored.
	command.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off", "GO111MODULE=on")
	errs, err := command.StderrPipe()
	if err != nil {
		return nil, errors.Wrap(err, "notebook kernel")
	}
	var stdout, stderr bytes.Buffer
	command.Stdout = &stdout
	if err := command.Start(); err != nil {
		return nil, errors.Wrap(err, "notebook kernel")
	}
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		if !known(lines.Text()) {
			fmt.Fprintln(&stderr, lines.Text())
		}
	}
	if err := command.Wait(); err != nil {
		return stdout.Bytes(), errors.Errorf("notebook kernel: go %s: %s", args[0], complaint(stderr.String(), err))
	}
	return stdout.Bytes(), nil
}

// complaint returns the most informative line of a failed go command's output.
func complaint(stderr string, err error) string {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading ") {
			return line
		}
	}
	return err.Error()
}
