package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// architectures are the generations for which kernels are assembled; the code for the last one is
// examined.
var architectures = [2]string{"sm_80", "sm_90"}

var (
	kernelPattern = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	spillPattern  = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)
	usedPattern   = regexp.MustCompile(`Used (\d+) registers`)
	sharedPattern = regexp.MustCompile(`(\d+) bytes smem`)

	// wrongPattern matches the instruction that takes a minimum, raises it to 0, and also reports
	// which number was smaller: the report is wrong if the minimum was raised.
	wrongPattern = regexp.MustCompile(`VIMNMX\S*\.RELU\S* R\w+, P\d.*;`)
)

// assembleAll assembles all modules of a folder, and returns the kernels sorted by name.
func (t tools) assembleAll(folder string) ([]row, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.ptx.zst"))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	byName := map[string]*row{}
	for _, file := range files {
		if err := t.assemble(file, byName); err != nil {
			return nil, errors.Wrap(err, file)
		}
	}
	var rows []row
	for _, r := range byName {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.kernel, b.kernel) })
	return rows, nil
}

// assemble adds the kernels of one module.
func (t tools) assemble(file string, rows map[string]*row) error {
	packed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer d.Close()
	ptx, err := d.DecodeAll(packed, nil)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "budgets")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	source, code := filepath.Join(folder, "kernels.ptx"), filepath.Join(folder, "kernels.cubin")
	if err := os.WriteFile(source, ptx, 0o644); err != nil {
		return err
	}
	for i, architecture := range architectures {
		log, err := exec.Command(t.ptxas, "-v", "-arch="+architecture, "-o", code, source).CombinedOutput()
		if err != nil {
			return errors.Wrapf(err, "ptxas: %s", log)
		}
		readLog(string(log), i, rows)
	}
	text, err := exec.Command(t.nvdisasm, "-c", code).Output()
	if err != nil {
		return errors.Wrap(err, "nvdisasm")
	}
	if wrong := wrongPattern.Find(text); wrong != nil {
		return errors.Errorf("ptxas made %q, which is wrong where the number is below 0: compare the number that the kernel clamps to 0, not the clamped one", wrong)
	}
	for kernel, l := range loopLoads(string(text)) {
		if rows[kernel] != nil {
			rows[kernel].loads = l
		}
	}
	return nil
}

// readLog reads what ptxas -v reports about each kernel.
func readLog(log string, architecture int, rows map[string]*row) {
	var u *usage
	for line := range strings.Lines(log) {
		if m := kernelPattern.FindStringSubmatch(line); m != nil {
			if rows[m[1]] == nil {
				rows[m[1]] = &row{kernel: m[1]}
			}
			u = &rows[m[1]].usage[architecture]
		}
		if u == nil {
			continue
		}
		if m := spillPattern.FindStringSubmatch(line); m != nil {
			u.spills = number(m[1]) + number(m[2])
		}
		if m := usedPattern.FindStringSubmatch(line); m != nil {
			u.registers = number(m[1])
			if m := sharedPattern.FindStringSubmatch(line); m != nil {
				u.shared = number(m[1])
			}
			u = nil // what follows is about functions that the kernel calls
		}
	}
}

// number converts digits that a pattern has matched.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
