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

	"github.com/residua-go/residua/internal/commandline"
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
	j := runner.FindJupyter(root)
	switch args[0] {
	case "check":
		return notebooks(ctx, root, j, args[1:], (*runner.Runner).Check)
	case "update":
		return notebooks(ctx, root, j, args[1:], (*runner.Runner).Update)
	case "kernel":
		return build(ctx, root)
	case "jupyter":
		return jupyter(ctx, root, j, args[1:])
	}
	return errors.Errorf("notebooks: want check, update, kernel or jupyter, got %q", args[0])
}

// notebooks builds the kernel and runs notebooks.
func notebooks(ctx context.Context, root string, j *runner.Jupyter, only []string, do func(*runner.Runner, context.Context, []string) error) error {
	if err := j.CheckConvert(ctx); err != nil {
		return err
	}
	if err := build(ctx, root); err != nil {
		return err
	}
	return do(runner.New(root, os.Stdout, j), ctx, only)
}

// jupyter builds the kernel and starts Jupyter.
func jupyter(ctx context.Context, root string, j *runner.Jupyter, args []string) error {
	server, err := j.Server(ctx)
	if err != nil {
		return err
	}
	if err := build(ctx, root); err != nil {
		return err
	}
	return j.Serve(ctx, server, root, args)
}

// build builds the kernel with the go command that the variable GO of the Makefile names.
func build(ctx context.Context, root string) error {
	start := time.Now()
	bar := commandline.NewProgress(commandline.Output{Stdout: os.Stdout, Stderr: os.Stderr}, "packages of the kernel compiled")
	err := kernel.Build(ctx, cmp.Or(os.Getenv("GO"), "go"), root, bar.Show)
	bar.End()
	if err != nil {
		return err
	}
	fmt.Printf("kernel built in %.1f s\n", time.Since(start).Seconds())
	return nil
}
