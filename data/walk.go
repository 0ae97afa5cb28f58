package data

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// walk lists the files of a folder and those below it, including links to files. Names are
// slash-separated paths relative to the folder. Links to folders are not followed.
type walk struct {
	wanted func(name string) bool // whether to list a file
	enter  func(name string) bool // whether to look into a folder; nil: into all
	notes  *walkNotes             // nil: a link or a folder that cannot be read is an error
}

// walkNotes collects what there is to tell the user about links and folders.
type walkNotes struct {
	unread  []string // those that were passed over, with the reason
	outside []string // links out of the folder that were read
}

// files returns the files below root.
func (w walk) files(ctx context.Context, root string) (files []File, err error) {
	// A trailing separator makes the walk enter a root that is itself a link.
	err = filepath.WalkDir(root+string(filepath.Separator), func(disk string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name, relErr := filepath.Rel(root, disk)
		if relErr != nil {
			return relErr
		}
		name = filepath.ToSlash(name)
		switch {
		case err != nil && name != "." && w.notes != nil:
			w.notes.pass(name, err)
			return nil
		case err != nil:
			return err
		case entry.IsDir() && name != "." && !w.enters(name):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0 && w.notes != nil && !w.follows(root, name, disk):
			return nil
		case !w.wanted(name):
			return nil
		}
		info, err := os.Stat(disk)
		if err == nil && info.Mode().IsRegular() {
			files = append(files, File{Name: name, Disk: disk, size: info.Size()})
		}
		return err
	})
	return files, err
}

func (w walk) enters(name string) bool { return w.enter == nil || w.enter(name) }

// follows tells whether a link leads to a file, and takes note of other links and of one that leads
// out of root.
func (w walk) follows(root, name, disk string) bool {
	info, err := os.Stat(disk)
	switch {
	case err != nil || info.IsDir():
		if w.enters(name) || w.wanted(name) {
			w.notes.pass(name, err)
		}
		return false
	case leadsOut(root, disk) && w.wanted(name):
		w.notes.outside = append(w.notes.outside, fmt.Sprintf("%q", name))
	}
	return true
}

// pass takes note of a link or folder that is passed over; err is nil for a link to a folder.
func (n *walkNotes) pass(name string, err error) {
	why := "a link to a folder"
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "a link to nothing"
	case errors.As(err, &path):
		why = path.Err.Error()
	case err != nil:
		why = err.Error()
	}
	n.unread = append(n.unread, fmt.Sprintf("%q (%s)", name, why))
}

// lines returns the notes, one line each.
func (n *walkNotes) lines() (lines []string) {
	if count := len(n.unread); count > 0 {
		lines = append(lines, fmt.Sprintf("data.path: %s passed over: %s", counted(count, "link or folder", "links and folders"), firstOf(n.unread)))
	}
	if count := len(n.outside); count > 0 {
		lines = append(lines, fmt.Sprintf("data.path: %s out of the folder followed: %s", counted(count, "link", "links"), firstOf(n.outside)))
	}
	return lines
}

// leadsOut tells whether a link leads to a file that is not below root.
func leadsOut(root, link string) bool {
	root, err := filepath.EvalSymlinks(root)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	target, linkErr := filepath.EvalSymlinks(link)
	if linkErr == nil {
		target, linkErr = filepath.Abs(target)
	}
	inside, relErr := filepath.Rel(root, target)
	return err == nil && linkErr == nil && (relErr != nil || !filepath.IsLocal(inside))
}

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// firstOf returns the first of a list, and how many others there are.
func firstOf(list []string) string {
	text := strings.Join(list[:min(len(list), namedFiles)], ", ")
	if rest := len(list) - namedFiles; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
