package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
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
	ptx, err := toolkit.ReadPacked(file)
	if err != nil {
		return err
	}
	var code []byte
	for i, architecture := range architectures {
		var log string
		if code, log, err = t.ptxas.Assemble(ptx, architecture); err != nil {
			return err
		}
		readLog(log, i, rows)
	}
	text, err := t.disassemble(code)
	if err != nil {
		return err
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

// disassemble returns the instructions of assembled code.
func (t tools) disassemble(code []byte) ([]byte, error) {
	file, err := os.CreateTemp("", "*.cubin")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if _, err = file.Write(code); err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	text, err := exec.Command(t.nvdisasm, "-c", file.Name()).Output()
	return text, errors.Wrap(err, "nvdisasm")
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
