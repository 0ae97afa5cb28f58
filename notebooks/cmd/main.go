// Command cmd builds the notebooks' kernel, runs the notebooks and checks or replaces their
// outputs, and starts Jupyter. Run it in the repository's root:
//
//	go run ./notebooks/cmd check 01 02    # of all notebooks, or of those whose names begin so
//	go run ./notebooks/cmd update 02
//	go run ./notebooks/cmd kernel
//	go run ./notebooks/cmd jupyter --no-browser
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/notebooks/internal/kernel"
	"github.com/residua-go/residua/notebooks/internal/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("notebooks: want check, update, kernel or jupyter")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "notebooks", "cmd")); err != nil {
		return errors.Errorf("notebooks: want to be called in the repository's root, got %s", root)
	}
	s := session{root: root, build: filepath.Join(root, "build", "notebooks")}
	switch args[0] {
	case "check":
		return s.notebooks(ctx, args[1:], (*runner.Runner).Check)
	case "update":
		return s.notebooks(ctx, args[1:], (*runner.Runner).Update)
	case "kernel":
		return s.kernel(ctx)
	case "jupyter":
		return s.jupyter(ctx, args[1:])
	}
	return errors.Errorf("notebooks: want check, update, kernel or jupyter, got %q", args[0])
}

// session holds the folders of the repository and of the build.
type session struct{ root, build string }

// notebooks builds the kernel and runs notebooks.
func (s session) notebooks(ctx context.Context, only []string, do func(*runner.Runner, context.Context, []string) error) error {
	j := runner.FindJupyter(s.root, s.build)
	if err := j.CheckConvert(ctx); err != nil {
		return err
	}
	if err := s.kernel(ctx); err != nil {
		return err
	}
	return do(runner.New(s.root, s.build, os.Stdout, j), ctx, only)
}

// jupyter builds the kernel and starts Jupyter.
func (s session) jupyter(ctx context.Context, args []string) error {
	j := runner.FindJupyter(s.root, s.build)
	server, err := j.Server(ctx)
	if err != nil {
		return err
	}
	if err := s.kernel(ctx); err != nil {
		return err
	}
	return j.Serve(ctx, server, filepath.Join(s.root, "notebooks"), s.build, args)
}

// kernel builds the kernel with the go command that the variable GO of the Makefile names.
func (s session) kernel(ctx context.Context) error {
	start := time.Now()
	if err := kernel.Build(ctx, cmp.Or(os.Getenv("GO"), "go"), s.root, s.build); err != nil {
		return err
	}
	fmt.Printf("kernel built in %.1f s\n", time.Since(start).Seconds())
	return nil
}
