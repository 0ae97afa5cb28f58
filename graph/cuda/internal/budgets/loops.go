package main

import (
	"regexp"
	"strings"
)

// loads counts the instructions in a kernel's loops that load from memory.
type loads struct {
	wide   int // from global memory, 128 bits for each thread
	narrow int // from global memory, fewer bits
	local  int // from local memory, which holds spilled registers, and stores to it
}

var (
	labelPattern  = regexp.MustCompile(`^(\.L_x_\d+):`)
	codePattern   = regexp.MustCompile(`^\s+/\*[0-9a-f]+\*/\s+(.*?);`)
	branchPattern = regexp.MustCompile("BRA.*`\\((\\.L_x_\\d+)\\)")
	loadPattern   = regexp.MustCompile(`\b(LDGSTS|LDG|LDL|STL)(\.[.\w]+)?`)
	startPattern  = regexp.MustCompile(`^\.text\.(\w+):`)
)

// loopLoads counts loads in loops, by kernel, in the output of nvdisasm -c. A loop is the code
// between a label and a branch back to it.
func loopLoads(disassembly string) map[string]loads {
	all := map[string]loads{}
	kernel, code, labels := "", []string(nil), map[string]int{}
	finish := func() {
		if kernel != "" {
			all[kernel] = countLoads(code, labels)
		}
		kernel, code, labels = "", nil, map[string]int{}
	}
	for line := range strings.Lines(disassembly) {
		if strings.HasPrefix(line, "//----") {
			finish()
		} else if m := startPattern.FindStringSubmatch(line); m != nil {
			kernel = m[1]
		} else if m := labelPattern.FindStringSubmatch(line); m != nil {
			labels[m[1]] = len(code)
		} else if m := codePattern.FindStringSubmatch(line); m != nil {
			code = append(code, m[1])
		}
	}
	finish()
	return all
}

// countLoads counts the loads of one kernel. A branch to itself ends the code and does not count as
// a loop.
func countLoads(code []string, labels map[string]int) (l loads) {
	inLoop := make([]bool, len(code))
	for i, instruction := range code {
		m := branchPattern.FindStringSubmatch(instruction)
		if m == nil {
			continue
		}
		if start, known := labels[m[1]]; known && start < i {
			for j := start; j <= i; j++ {
				inLoop[j] = true
			}
		}
	}
	for i, instruction := range code {
		m := loadPattern.FindStringSubmatch(instruction)
		switch {
		case m == nil || !inLoop[i]:
		case m[1] == "LDL" || m[1] == "STL":
			l.local++
		case strings.Contains(m[2], ".128"):
			l.wide++
		default:
			l.narrow++
		}
	}
	return l
}
