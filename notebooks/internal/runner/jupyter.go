package runner

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/notebooks/internal/kernel"
)

// Jupyter is the installation that runs notebooks. It finds our kernel, and keeps its settings and
// other files, in one subfolder of the build.
type Jupyter struct {
	program string
	env     []string
}

// How to install what is missing, in one line each.
const (
	installNBConvert = `install it by "apt-get install -y --no-install-recommends jupyter-nbconvert" (Debian, Ubuntu)` +
		` or "python3 -m venv build/venv && build/venv/bin/pip install nbconvert"`
	installServer = `install it by "apt-get install -y jupyter-notebook" (Debian, Ubuntu)` +
		` or "python3 -m venv build/venv && build/venv/bin/pip install jupyterlab"`
)

// FindJupyter looks for the program jupyter: the one that $JUPYTER names, or else the one in
// build/venv below root, or else the one on the path. CheckConvert and Server tell whether Jupyter
// is installed.
func FindJupyter(root string) *Jupyter {
	program := os.Getenv("JUPYTER")
	if program == "" {
		program = filepath.Join(root, "build", "venv", "bin", "jupyter")
		if runtime.GOOS == "windows" {
			program = filepath.Join(root, "build", "venv", "Scripts", "jupyter.exe")
		}
		if _, err := os.Stat(program); err != nil {
			program = "jupyter"
		}
	}
	home := filepath.Join(kernel.Folder(root), "home")
	env := append(os.Environ(),
		"JUPYTER_PATH="+joinPaths(kernel.JupyterPath(root), os.Getenv("JUPYTER_PATH")),
		"JUPYTER_DATA_DIR="+filepath.Join(home, "data"),
		"JUPYTER_CONFIG_DIR="+filepath.Join(home, "config"),
		"JUPYTER_RUNTIME_DIR="+filepath.Join(home, "runtime"),
		"IPYTHONDIR="+filepath.Join(home, "ipython"),
		"JUPYTER_PLATFORM_DIRS=1", // otherwise some versions print warnings
	)
	return &Jupyter{program: program, env: env}
}

func joinPaths(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + string(os.PathListSeparator) + rest
}

// command returns a command that is interrupted when ctx ends, so that Jupyter stops its kernels.
func (j *Jupyter) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, j.program, args...)
	c.Env = j.env
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	return c
}

// has tells whether a subcommand is installed.
func (j *Jupyter) has(ctx context.Context, subcommand string) bool {
	return j.command(ctx, subcommand, "--version").Run() == nil
}

// CheckConvert returns an error that says what to install if notebooks cannot be executed.
func (j *Jupyter) CheckConvert(ctx context.Context) error {
	if !j.has(ctx, "nbconvert") {
		return errors.Errorf("notebooks: want jupyter nbconvert, found none with %s; %s", j.program, installNBConvert)
	}
	return nil
}

// Server returns the subcommand that serves notebooks to a browser: lab or notebook. The error says
// what to install.
func (j *Jupyter) Server(ctx context.Context) (string, error) {
	for _, server := range []string{"lab", "notebook"} {
		if j.has(ctx, server) {
			return server, nil
		}
	}
	return "", errors.Errorf("notebooks: want JupyterLab or Jupyter Notebook, found neither with %s; %s", j.program, installServer)
}

// Execute runs a notebook with our kernel and writes the result to a file. If cells fail, it
// returns no error; the result has their messages.
func (j *Jupyter) Execute(ctx context.Context, notebook, result string, cellLimit time.Duration) error {
	c := j.command(ctx, "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--log-level=ERROR",
		"--ExecutePreprocessor.kernel_name="+kernel.Name,
		"--ExecutePreprocessor.timeout="+seconds(cellLimit),
		"--ExecutePreprocessor.record_timing=False",
		"--output-dir="+filepath.Dir(result), "--output="+filepath.Base(result), notebook)
	out, err := c.CombinedOutput()
	if err != nil {
		return errors.Errorf("jupyter nbconvert: %s", complaint(string(out), err))
	}
	return nil
}

// Serve starts a Server in the folder of the notebooks and waits for its end.
func (j *Jupyter) Serve(ctx context.Context, server, root string, args []string) error {
	all := append([]string{server, "--MultiKernelManager.default_kernel_name=" + kernel.Name,
		"--FileCheckpoints.checkpoint_dir=" + filepath.Join(kernel.Folder(root), "home", "checkpoints")}, args...)
	c := j.command(ctx, all...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = filepath.Join(root, "notebooks"), os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if ctx.Err() != nil {
		return nil
	}
	return errors.Wrapf(err, "notebooks: jupyter %s", server)
}

// exceptionPattern matches the line of a Python traceback that has the message.
var exceptionPattern = regexp.MustCompile(`^[\w.]*(?:Error|Exception): `)

// complaint returns the last line of a program's output that is the message of an exception,
// otherwise the last line.
func complaint(out string, err error) string {
	message := err.Error()
	found := false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if exception := exceptionPattern.MatchString(line); exception || line != "" && !found {
			message, found = line, found || exception
		}
	}
	return message
}
