package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePage is the size of a large page of x86-64, and of arm64 with small pages of 4 KiB.
const largePage = 2 << 20

// LargePages asks the system to keep the memory from p on in large pages, of 2 MiB. Where a page
// of 4 KiB ends, the processor has to look up where the next one lies, and its own reading ahead
// stops: memory that is read from end to end comes faster from large pages. The request covers
// the whole pages that the memory touches, also what else lies in them; it changes no content.
// A system that has none to give, or memory of less than a page, stays as it is.
func LargePages(p unsafe.Pointer, bytes int) {
	if bytes < largePage {
		return
	}
	before := uintptr(p) % largePage
	length := (before + uintptr(bytes) + largePage - 1) / largePage * largePage
	region := unsafe.Slice((*byte)(unsafe.Add(p, -int(before))), length)
	if unix.Madvise(region, unix.MADV_HUGEPAGE) == nil { // pages that are touched from now on
		_ = unix.Madvise(region, unix.MADV_COLLAPSE) // and those that have been; Linux 6.1 and later
	}
}
