package checkpoint

import "fmt"

// DamagedError reports that a file's content is not what a program of this module wrote: it is
// truncated or was changed, or another program has written the file. An earlier checkpoint may
// still be good. The wrapping error names the file.
type DamagedError struct{ Problem string }

// Error says what is wrong.
func (e *DamagedError) Error() string { return e.Problem }

func damagedf(format string, args ...any) error {
	return &DamagedError{fmt.Sprintf(format, args...)}
}
