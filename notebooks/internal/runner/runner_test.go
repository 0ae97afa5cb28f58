package runner

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// page is a notebook of one cell; output is what the cell has printed, or how it has failed.
func page(count, output string) string {
	return fmt.Sprintf(`{"cells": [{"cell_type": "code", "execution_count": %s, "metadata": {}, "source": "run()", "outputs": [%s]}],
		"metadata": {"language_info": {"name": "go", "version": "go9"}}, "nbformat": 4, "nbformat_minor": 5}`, count, output)
}

func prints(text string) string {
	return fmt.Sprintf(`{"output_type": "stream", "name": "stdout", "text": %q}`, text)
}

const fails = `{"output_type": "error", "ename": "ERROR", "evalue": "no such layer", "traceback": []}`

// testRunner returns a Runner for a folder with the committed notebooks, and its report. Running a
// notebook gives the text in fresh under its name, or fails if there is none.
func testRunner(t *testing.T, committed map[string]string, fresh map[string]string) (*Runner, *bytes.Buffer) {
	t.Helper()
	report := &bytes.Buffer{}
	r := &Runner{Dir: t.TempDir(), Build: t.TempDir(), Report: report}
	for name, text := range committed {
		require.NoError(t, os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o644))
	}
	r.Execute = func(_ context.Context, notebook, result string) error {
		text, there := fresh[filepath.Base(notebook)]
		if !there {
			return errors.New("the kernel died")
		}
		return os.WriteFile(result, []byte(text), 0o644)
	}
	return r, report
}

func TestCheckReportsEachNotebook(t *testing.T) {
	r, report := testRunner(t,
		map[string]string{"01-a.ipynb": page("1", prints("1.0")), "02-b.ipynb": page("1", prints("1.0")), "03-c.ipynb": page("1", ""), "04-d.ipynb": page("1", ""), "notes.txt": ""},
		map[string]string{"01-a.ipynb": page("1", prints("1.0")), "02-b.ipynb": page("1", prints("1.5")), "03-c.ipynb": page("1", fails)})
	require.EqualError(t, r.Check(context.Background(), nil), "notebooks: 3 of 4 do not pass")
	for _, want := range []string{"01-a.ipynb", "passes\n", "02-b.ipynb: cell 1: stdout: want 1.0 (tolerance 0.001, absolute 1e-09), got 1.5", "03-c.ipynb: cell 1: fails: ERROR: no such layer", "04-d.ipynb: the kernel died"} {
		require.Contains(t, report.String(), want)
	}
	require.Equal(t, 1, strings.Count(report.String(), "passes"))
	require.Equal(t, 3, strings.Count(report.String(), "FAILS"))

	report.Reset()
	require.NoError(t, r.Check(context.Background(), []string{"01"}))
	require.NotContains(t, report.String(), "02-b")
	require.EqualError(t, r.Check(context.Background(), []string{"01", "09"}), `notebooks: want the beginning of a notebook's name, got "09"; there are 01-a.ipynb, 02-b.ipynb, 03-c.ipynb, 04-d.ipynb`)
}

func TestUpdateWritesOutputsThatThenPass(t *testing.T) {
	fresh := map[string]string{"01-a.ipynb": page("7", prints("1.5"))}
	r, _ := testRunner(t, map[string]string{"01-a.ipynb": page("null", "")}, fresh)
	require.Error(t, r.Check(context.Background(), nil), "not run yet")
	require.NoError(t, r.Update(context.Background(), nil))
	require.NoError(t, r.Check(context.Background(), nil))
	text, err := os.ReadFile(filepath.Join(r.Dir, "01-a.ipynb"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"execution_count": 1`)
	require.Contains(t, string(text), `"id": "cell-1"`)
	require.Contains(t, string(text), `"name": "residua"`)
	require.NotContains(t, string(text), "go9")

	require.NoError(t, r.Update(context.Background(), nil))
	again, err := os.ReadFile(filepath.Join(r.Dir, "01-a.ipynb"))
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
}

func TestUpdateLeavesANotebookThatFails(t *testing.T) {
	committed := page("1", prints("1.0"))
	blank := `{"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBOR"}}`
	for _, output := range []string{fails, blank} {
		r, report := testRunner(t, map[string]string{"01-a.ipynb": committed}, map[string]string{"01-a.ipynb": page("1", output)})
		require.EqualError(t, r.Update(context.Background(), nil), "notebooks: 1 of 1 do not pass")
		require.Contains(t, report.String(), "cell 1: ")
		text, err := os.ReadFile(filepath.Join(r.Dir, "01-a.ipynb"))
		require.NoError(t, err)
		require.Equal(t, committed, string(text))
	}
}

func TestNoNotebooks(t *testing.T) {
	r, _ := testRunner(t, nil, nil)
	require.ErrorContains(t, r.Check(context.Background(), nil), "found none")
}

func TestInterrupt(t *testing.T) {
	r, _ := testRunner(t, map[string]string{"01-a.ipynb": page("1", "")}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r.Execute = func(context.Context, string, string) error { cancel(); return context.Canceled }
	require.EqualError(t, r.Check(ctx, nil), "notebooks: interrupted")
}

func TestReportTellsOfSlowNotebooks(t *testing.T) {
	var report bytes.Buffer
	r := &Runner{Report: &report}
	r.report("a/01-a.ipynb", 59*time.Second, nil)
	r.report("a/02-b.ipynb", 61*time.Second, nil)
	require.Equal(t, fmt.Sprintf("%-32s  59.0 s  passes\n%-32s  61.0 s  passes, in more than 60 s\n", "01-a.ipynb", "02-b.ipynb"), report.String())
}

// fakeJupyter makes a program that has the subcommand nbconvert only if script says so.
func fakeJupyter(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script stands in for Jupyter")
	}
	program := filepath.Join(t.TempDir(), "jupyter")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("JUPYTER", program)
	return program
}

func TestMissingJupyterIsALineThatNamesTheCommand(t *testing.T) {
	fakeJupyter(t, "exit 1\n") // has no subcommand
	for range 2 {
		j := FindJupyter("root")
		err := j.CheckConvert(context.Background())
		require.ErrorContains(t, err, "apt-get install -y --no-install-recommends jupyter-nbconvert")
		require.NotContains(t, err.Error(), "\n")
		_, err = j.Server(context.Background())
		require.ErrorContains(t, err, "apt-get install -y jupyter-notebook")
		require.NotContains(t, err.Error(), "\n")
		t.Setenv("JUPYTER", filepath.Join(t.TempDir(), "none")) // there is no program
	}
}

func TestServeKeepsJupyterInTheBuildFolder(t *testing.T) {
	out, root := filepath.Join(t.TempDir(), "seen"), t.TempDir()
	dir := filepath.Join(root, "notebooks")
	require.NoError(t, os.Mkdir(dir, 0o755))
	fakeJupyter(t, fmt.Sprintf("test \"$1\" = notebook && { pwd; echo \"$@\"; } >%q\n", out))
	j := FindJupyter(root)
	server, err := j.Server(context.Background())
	require.NoError(t, err)
	require.NoError(t, j.Serve(context.Background(), server, root, []string{"--no-browser"}))
	seen, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, dir+"\nnotebook --MultiKernelManager.default_kernel_name=residua --FileCheckpoints.checkpoint_dir="+root+"/build/notebooks/home/checkpoints --no-browser\n", string(seen))
}

func TestExecuteKeepsJupyterInTheBuildFolder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "seen")
	fakeJupyter(t, fmt.Sprintf("{ env; echo \"$@\"; } >%q\n", out))
	t.Setenv("JUPYTER_PATH", "mine")
	j := FindJupyter("root")
	require.NoError(t, j.CheckConvert(context.Background()))
	require.NoError(t, j.Execute(context.Background(), "a.ipynb", filepath.Join("results", "a.ipynb"), time.Minute))
	seen, err := os.ReadFile(out)
	require.NoError(t, err)
	for _, want := range []string{
		"JUPYTER_PATH=root/build/notebooks/jupyter:mine\n", "JUPYTER_DATA_DIR=root/build/notebooks/home/", "JUPYTER_CONFIG_DIR=root/build/notebooks/home/", "JUPYTER_RUNTIME_DIR=root/build/notebooks/home/",
		"nbconvert --to notebook --execute", "kernel_name=residua", "timeout=60", "--output-dir=results --output=a.ipynb", "a.ipynb\n",
	} {
		require.Contains(t, string(seen), want)
	}
}

func TestFailedExecuteTellsTheMessage(t *testing.T) {
	fakeJupyter(t, "echo Traceback; echo; echo 'DeadKernelError: Kernel died' >&2; exit 1\n")
	j := FindJupyter("root")
	require.EqualError(t, j.Execute(context.Background(), "a.ipynb", "b.ipynb", time.Minute), "jupyter nbconvert: DeadKernelError: Kernel died")
	require.Equal(t, "exit", complaint(" \n", errors.New("exit")))
	require.Equal(t, "nbclient.exceptions.CellTimeoutError: a cell timed out", complaint("Traceback:\n  x\nnbclient.exceptions.CellTimeoutError: a cell timed out\nThe cell:\n----\n", errors.New("exit")))
}
