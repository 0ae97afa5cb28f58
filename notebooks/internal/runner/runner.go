// Package runner executes the committed notebooks and compares their outputs with the committed
// ones, or replaces those.
package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/notebooks/internal/ipynb"
	"github.com/residua-go/residua/notebooks/internal/kernel"
)

// Time limits for a cell and for a notebook. The report mentions notebooks that take longer.
const (
	cellLimit     = 5 * time.Minute
	notebookLimit = time.Minute
)

// Runner runs the notebooks of a folder.
type Runner struct {
	Dir    string // folder of the notebooks
	Build  string // folder for executed notebooks
	Report io.Writer
	// Execute runs a notebook file and writes the result to another.
	Execute func(ctx context.Context, notebook, result string) error
}

// New returns a Runner for the notebooks of the module at root, with Jupyter and our kernel.
func New(root string, report io.Writer, j *Jupyter) *Runner {
	return &Runner{Dir: filepath.Join(root, "notebooks"), Build: kernel.Folder(root), Report: report,
		Execute: func(ctx context.Context, notebook, result string) error {
			return j.Execute(ctx, notebook, result, cellLimit)
		}}
}

// Check executes the notebooks whose file names begin with one of the prefixes in only (none: all)
// and reports a line for each, followed by its problems. The error says how many failed.
func (r *Runner) Check(ctx context.Context, only []string) error {
	return r.each(ctx, only, func(committed, fresh *ipynb.Notebook, _ string) ([]string, error) {
		return ipynb.Compare(committed, fresh)
	})
}

// Update executes notebooks and writes their outputs to the notebooks' files. It does not change a
// notebook with a cell that fails.
func (r *Runner) Update(ctx context.Context, only []string) error {
	return r.each(ctx, only, func(committed, fresh *ipynb.Notebook, file string) ([]string, error) {
		for i, c := range fresh.Cells {
			if failure := c.Failure(); failure != "" {
				return []string{fmt.Sprintf("cell %d: fails: %s", i+1, failure)}, nil
			}
		}
		for i := range fresh.Cells {
			fresh.Cells[i].ID = fmt.Sprintf("cell-%d", i+1)
			if i < len(committed.Cells) && committed.Cells[i].ID != "" {
				fresh.Cells[i].ID = committed.Cells[i].ID
			}
		}
		fresh.Metadata["kernelspec"] = map[string]any{"name": kernel.Name, "display_name": kernel.DisplayName, "language": "go"}
		fresh.Normalise()
		if problems, err := ipynb.Compare(fresh, fresh); err != nil || len(problems) > 0 {
			return problems, err // invalid settings, or a blank picture
		}
		return nil, fresh.Write(file)
	})
}

// action compares or updates a committed notebook, given the executed one, and returns the
// problems.
type action func(committed, fresh *ipynb.Notebook, file string) ([]string, error)

// each executes notebooks, calls do for each of them, and reports.
func (r *Runner) each(ctx context.Context, only []string, do action) error {
	files, err := r.files(only)
	if err != nil {
		return err
	}
	failed := 0
	for _, file := range files {
		start := time.Now()
		problems, err := r.one(ctx, file, do)
		if ctx.Err() != nil {
			return errors.New("notebooks: interrupted")
		}
		if err != nil {
			problems = append(problems, err.Error())
		}
		if len(problems) > 0 {
			failed++
		}
		r.report(file, time.Since(start), problems)
	}
	if failed > 0 {
		return errors.Errorf("notebooks: %d of %d do not pass", failed, len(files))
	}
	return nil
}

// one executes a notebook.
func (r *Runner) one(ctx context.Context, file string, do action) ([]string, error) {
	committed, err := ipynb.Read(file)
	if err != nil {
		return nil, err
	}
	result := filepath.Join(r.Build, "executed", filepath.Base(file))
	if err := os.MkdirAll(filepath.Dir(result), 0o755); err != nil {
		return nil, errors.Wrap(err, "notebooks")
	}
	if err := r.Execute(ctx, file, result); err != nil {
		return nil, err
	}
	fresh, err := ipynb.Read(result)
	if err != nil {
		return nil, err
	}
	return do(committed, fresh, file)
}

// report prints the time that a notebook took, and its problems.
func (r *Runner) report(file string, took time.Duration, problems []string) {
	name, verdict := filepath.Base(file), "passes"
	if took > notebookLimit {
		verdict = fmt.Sprintf("passes, in more than %s s", seconds(notebookLimit))
	}
	if len(problems) > 0 {
		verdict = "FAILS"
	}
	fmt.Fprintf(r.Report, "%-32s %5.1f s  %s\n", name, took.Seconds(), verdict)
	for _, problem := range problems {
		fmt.Fprintf(r.Report, "  %s: %s\n", name, problem)
	}
}

// files lists the notebooks, sorted; a prefix that no file has is an error.
func (r *Runner) files(only []string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(r.Dir, "*.ipynb"))
	if err != nil {
		return nil, errors.Wrap(err, "notebooks")
	}
	if len(all) == 0 {
		return nil, errors.Errorf("notebooks: want *.ipynb in %s, found none", r.Dir)
	}
	if len(only) == 0 {
		return all, nil
	}
	var chosen, names []string
	used := map[string]bool{}
	for _, file := range all {
		names = append(names, filepath.Base(file))
		for _, prefix := range only {
			if strings.HasPrefix(filepath.Base(file), prefix) {
				chosen, used[prefix] = append(chosen, file), true
				break
			}
		}
	}
	for _, prefix := range only {
		if !used[prefix] {
			return nil, errors.Errorf("notebooks: want the beginning of a notebook's name, got %q; there are %s", prefix, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
