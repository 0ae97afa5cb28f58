package checkpoint

import "fmt"

// DamagedError says that the content of a file is not what a program of this module wrote: it is truncated or was changed, or the
// file is another program's. An earlier checkpoint may do. The error around it names the file.
type DamagedError struct{ Problem string }

// Error says what does not fit.
func (e *DamagedError) Error() string { return e.Problem }

func damagedf(format string, args ...any) error {
	return &DamagedError{fmt.Sprintf(format, args...)}
}
