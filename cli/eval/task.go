package eval

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/pretrained"
)

func (c *call) runTask(ctx context.Context, out commandline.Output) error {
	if err := c.chooseFormat(); err != nil {
		return err
	}
	c.task.Seed, c.task.Resamples = c.Seed, c.Resamples
	task, err := c.loadTask(ctx, out)
	if err != nil {
		return commandline.Usage(commandline.ByFlag(err))
	}
	var paths []string
	var all []tasks.Result
	err = c.each(ctx, out, func(path string, m *pretrained.Model, o eval.Options) error {
		tokenizer, err := m.Tokenizer()
		if err != nil {
			return commandline.Usage(err)
		}
		progress := commandline.NewProgress(out, "questions")
		o.Progress = progress.Show
		r, err := task.Score(ctx, m.Store, m.Spec, tokenizer, o)
		progress.End()
		if err != nil {
			return callersMistake(err)
		}
		if r.Truncated > 0 {
			out.Note(fmt.Sprintf("%s: texts whose beginning the model did not see, longer than the %d tokens that it was trained on: %d", path, m.Spec.Seq, r.Truncated))
		}
		if len(all) > 0 {
			r.Difference = r.Against(all[0])
		}
		paths, all = append(paths, path), append(all, r)
		return c.printResult(out, path, r)
	})
	if err != nil || c.JSON {
		return err
	}
	text := taskTable(paths, all).Text()
	if len(all) > 1 && len(all[1].Difference) > 0 {
		text += "\n" + differenceTable(paths, all).Text()
	}
	return out.Print(text)
}

// loadTask reads the task's file, or makes a task from the validation text of the first model's
// run.
func (c *call) loadTask(ctx context.Context, out commandline.Output) (*tasks.Task, error) {
	if c.File != tasks.HeldOutFile {
		t, err := tasks.Load(ctx, c.File, c.task.Options)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, commandline.Usagef("-task: want a file of one document a line%s, or %s, got %s, which does not exist (docs/eval.md says where tasks come from)",
				filesNear(c.File), tasks.HeldOutFile, c.File)
		}
		return t, err
	}
	c.Path = c.Paths[0]
	m, err := c.open(out)
	if err != nil {
		return nil, err
	}
	texts, err := m.HeldOut(ctx)
	if err != nil {
		return nil, err
	}
	return tasks.HeldOut(ctx, texts, c.task.Options)
}

// filesNear names files that may be meant by one that does not exist: those with a task's ending in
// its folder, in this one and in Residua's own.
func filesNear(file string) string {
	var names []string
	for _, folder := range []string{filepath.Dir(file), ".", "eval/tasks/testdata"} {
		found, _ := filepath.Glob(filepath.Join(folder, "*.jsonl")) // a folder of any name: without its files, if the name is a pattern
		for _, name := range found {
			if !slices.Contains(names, name) && len(names) < 8 {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return ""
	}
	return " such as " + strings.Join(names, ", ")
}

// callersMistake marks errors in the task's file, and of models that cannot read it, as errors of
// the call.
func callersMistake(err error) error {
	var request *eval.RequestError
	var vocabulary *data.VocabularyError
	if errors.As(err, &request) || errors.As(err, &vocabulary) {
		return commandline.Usage(err)
	}
	return err
}

// chooseFormat combines -type and -format into one format.
func (c *call) chooseFormat() error {
	switch {
	case c.Kind == "":
		return nil
	case c.Format != "":
		return commandline.Usagef("want one of -type and -format, got both")
	case !slices.Contains(kinds(), c.Kind):
		return commandline.Usagef("-type: want one of %s, got %q", strings.Join(kinds(), ", "), c.Kind)
	}
	c.Format = c.Kind
	return nil
}

// printResult prints the results of one checkpoint as JSON, if the flags ask for them.
func (c *call) printResult(out commandline.Output, path string, r tasks.Result) error {
	if len(c.Paths) == 1 {
		path = ""
	}
	if c.PerDocument {
		for _, s := range r.Samples {
			if err := out.PrintJSON(struct {
				Checkpoint string `json:"checkpoint,omitempty"`
				tasks.Sample
			}{path, s}); err != nil {
				return err
			}
		}
	}
	if !c.JSON {
		return nil
	}
	r.Checkpoint = path
	return out.PrintJSON(r)
}

// differenceTable has a row for each checkpoint after the first, and compares it with the first
// document by document.
func differenceTable(paths []string, all []tasks.Result) figure.Table {
	t := figure.NewTable("difference from "+paths[0]+", document by document", "l", "checkpoint")
	for _, m := range all[1].Difference {
		t.Header = append(t.Header, m.Name)
		t.Align += "r"
	}
	for i, r := range all[1:] {
		row := []string{paths[1+i]}
		for _, m := range r.Difference {
			row = append(row, within("%+.4f", m.Value, m.StdErr))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// taskTable has a row for each checkpoint.
func taskTable(paths []string, all []tasks.Result) figure.Table {
	t := figure.NewTable("", "lr", "checkpoint", "documents")
	for _, m := range all[0].Metrics {
		t.Header = append(t.Header, m.Name)
		t.Align += "r"
	}
	for i, r := range all {
		row := []string{paths[i], fmt.Sprint(r.Documents)}
		for _, m := range r.Metrics {
			format := "%.4f"
			if m.Value >= 1000 { // a perplexity
				format = "%.6g"
			}
			row = append(row, within(format, m.Value, m.StdErr))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
