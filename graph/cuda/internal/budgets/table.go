package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"
)

// row holds the resources of one kernel.
type row struct {
	kernel string
	usage  [len(architectures)]usage
	loads  loads // in the loops of the code for the last architecture
}

// usage is what a kernel takes of a multiprocessor.
type usage struct {
	registers int // registers of a thread
	shared    int // bytes of static shared memory of a block
	spills    int // bytes that a thread stores to and loads from memory because it lacks registers
}

const columns = "kernel\tsm_80 registers\tshared\tspills\tsm_90 registers\tshared\tspills\tloads in loops of 128 bits\tfewer\tlocal"

// format writes the table.
func format(version string, rows []row) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Made by go run ./internal/budgets with ptxas %s. Bytes of shared memory are static ones, bytes of spills a thread's.\n%s\n", version,
		columns)
	for _, r := range rows {
		fmt.Fprintf(&text, "%s", r.kernel)
		for _, u := range r.usage {
			fmt.Fprintf(&text, "\t%d\t%d\t%d", u.registers, u.shared, u.spills)
		}
		fmt.Fprintf(&text, "\t%d\t%d\t%d\n", r.loads.wide, r.loads.narrow, r.loads.local)
	}
	return text.String()
}

// parse reads the table, and the version of ptxas that made it.
func parse(file string) (version string, rows []row, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, errors.WithStack(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			_, version, _ = strings.Cut(line, "ptxas ")
			version, _, _ = strings.Cut(version, ". ")
			continue
		}
		if line == columns {
			continue
		}
		var r row
		u, l := &r.usage, &r.loads
		_, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", &r.kernel, &u[0].registers, &u[0].shared, &u[0].spills,
			&u[1].registers, &u[1].shared, &u[1].spills, &l.wide, &l.narrow, &l.local)
		if err != nil {
			return "", nil, errors.Wrapf(err, "%s:%d", file, i+1)
		}
		rows = append(rows, r)
	}
	return version, rows, nil
}
