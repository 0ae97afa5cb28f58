package cuda

import (
	"embed"
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

//go:generate go run ./internal/ptxgen

// compiled holds the PTX of every .cu file.
//
//go:embed *.ptx
var compiled embed.FS

// module is the PTX of one .cu file and the kernels in it.
type module struct {
	name    string // of the file, without its ending
	ptx     string
	entries []entry
}

// entry is a kernel as its PTX declares it.
type entry struct {
	name    string
	params  []int // the size of each parameter in bytes
	threads int   // the most threads a block may have
}

// modules returns the compiled files, sorted by name.
func modules() ([]module, error) {
	files, err := compiled.ReadDir(".")
	if err != nil {
		return nil, err
	}
	list := make([]module, 0, len(files))
	for _, f := range files {
		text, err := compiled.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		entries, err := parseEntries(string(text))
		if err != nil {
			return nil, errors.Wrap(err, f.Name())
		}
		list = append(list, module{strings.TrimSuffix(f.Name(), ".ptx"), string(text), entries})
	}
	return list, nil
}

var (
	entryPattern = regexp.MustCompile(`(?s)\.entry\s+(\w+)\s*\((.*?)\)\s*(?:\.maxntid\s+(\d+))?`)
	paramPattern = regexp.MustCompile(`\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+\w+(?:\[(\d+)\])?`)
)

// parseEntries reads the declarations of the kernels in a PTX file (PTX ISA, directives
// .entry, .param and .maxntid):
//
//	.visible .entry scale_f32( .param .u64 scale_f32_param_0, ... ) .maxntid 256, 1, 1
func parseEntries(ptx string) ([]entry, error) {
	matches := entryPattern.FindAllStringSubmatch(ptx, -1)
	entries := make([]entry, 0, len(matches))
	for _, match := range matches {
		e := entry{name: match[1], threads: 1024}
		if match[3] != "" {
			e.threads, _ = strconv.Atoi(match[3]) // digits, by the pattern
		}
		var err error
		if e.params, err = parseParams(match[2]); err != nil {
			return nil, errors.Wrapf(err, "kernel %s", e.name)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// parseParams returns the sizes of the parameters in a kernel's list of them.
func parseParams(list string) ([]int, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var sizes []int
	for declaration := range strings.SplitSeq(list, ",") {
		match := paramPattern.FindStringSubmatch(declaration)
		if match == nil {
			return nil, errors.Errorf("want parameters as in \".param .u64 name\", got %q", strings.TrimSpace(declaration))
		}
		bits, _ := strconv.Atoi(match[1])
		count := 1
		if match[2] != "" {
			count, _ = strconv.Atoi(match[2])
		}
		sizes = append(sizes, bits/8*count)
	}
	return sizes, nil
}
