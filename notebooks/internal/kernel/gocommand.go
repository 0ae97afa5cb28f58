package kernel

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/pkg/errors"
)

// goCommand runs go in the kernel's module.
type goCommand struct {
	name string // name of the program
	dir  string
}

// output runs go and returns what it prints; the error has its first complaint.
func (g goCommand) output(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, g.name, args...)
	command.Dir = g.dir
	// Only here may go.mod be completed; the user's workspace is ignored.
	command.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off", "GO111MODULE=on")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return out, errors.Errorf("notebook kernel: go %s: %s", args[0], complaint(stderr.String(), err))
	}
	return out, nil
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
